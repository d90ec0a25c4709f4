import type { ErrorCode, SourceId, ToolResult } from '#contracts';
import type { DocumentIndex, IsolatedCall, ScratchpadContent, SettledOutcome, Source, SourceHead } from '#domain';
import type { WebConfig } from '#web';

/**
 * What a call in a process of its own may ask its parent for: rows. Whose rows is decided by the parent, from the call it sent; a child
 * names no tenant, run or thread.
 */
export interface ParentPorts {
  findSource(canonicalUrl: string): Promise<Source | null>;
  getSource(sourceId: SourceId): Promise<Source | null>;
  sourceHeads(): Promise<SourceHead[]>;
  readScratchpad(): Promise<ScratchpadContent>;
  writeScratchpad(): Promise<ToolResult>;
  documentStatistics: DocumentIndex['statistics'];
  readDocument: DocumentIndex['read'];
}

/** A call with all that its process needs to reach the outside world itself. */
export interface ChildTask extends Omit<IsolatedCall, 'timeoutMs'> {
  web: WebConfig;
  pageChars: number;
}

/** An error on its way from process to process; `code` is null for one that is not ours. */
export interface ErrorWords {
  code: ErrorCode | null;
  message: string;
}

export type MessageToChild = { kind: 'task'; task: ChildTask } | { kind: 'answer'; id: number; value: unknown } | { kind: 'refusal'; id: number; error: ErrorWords };

export type MessageToParent =
  | { kind: 'ready' }
  | { kind: 'question'; id: number; port: keyof ParentPorts; args: unknown[] }
  | { kind: 'outcome'; outcome: SettledOutcome }
  | { kind: 'failure'; error: ErrorWords };
