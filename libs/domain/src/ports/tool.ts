import type { z } from 'zod';
import type {
  ActivityWord,
  AssistantRole,
  Capability,
  DurableEventBody,
  HostPolicy,
  Operation,
  RunId,
  ScratchpadThreadId,
  SearchHit,
  SourceId,
  TenantId,
  ToolCallId,
  ToolResult,
} from '#contracts';
import type { FetchedPage, PageReader, SearchProvider } from './web.ts';

/** A stored source with its text. */
export interface Source {
  id: SourceId;
  url: string;
  finalUrl: string;
  title: string;
  mediaType: string;
  bodySha256: string;
  text: string;
}

/** Sources of one run chain. Bodies live here once; everything else holds ids. */
export interface SourceStore {
  /** The completed source of this root run with that canonical URL, or null. */
  findByUrl(rootRunId: RunId, canonicalUrl: string): Promise<Source | null>;
  get(rootRunId: RunId, sourceId: SourceId): Promise<Source | null>;
  /** Every source of the root run in the order it was stored, without text. */
  heads(rootRunId: RunId): Promise<SourceHead[]>;
}

/** A source without its text. `fetchedAt` is ISO 8601. */
export type SourceHead = Omit<Source, 'text'> & { fetchedAt: string };

export interface ScratchpadEntry {
  sequenceNo: string;
  author: AssistantRole;
  /** Delegation number of the author within its root run, from 1; null for the supervisor. */
  worker: number | null;
  kind: 'note' | 'finding';
  text: string;
  createdAt: string;
}

export interface ScratchpadContent {
  body: string;
  revision: number;
  entries: ScratchpadEntry[];
}

/** The read-only door to scratchpads; only `apps/scratchpad` writes them. */
export interface ScratchpadReader {
  read(tenantId: TenantId, threadId: ScratchpadThreadId): Promise<ScratchpadContent>;
}

/** What a tool may know of the run that calls it. Everything comes from the database, nothing from model arguments. */
export interface ToolCaller {
  tenantId: TenantId;
  runId: RunId;
  rootRunId: RunId;
  role: AssistantRole;
  scratchpadThreadId: ScratchpadThreadId;
  toolCallId: ToolCallId;
  /** Delegation number within the root run, from 1; null for the supervisor. */
  worker: number | null;
  /** Hosts whose pages this run may read; null is any. */
  hostPolicy: HostPolicy | null;
}

/** The outside world as tools reach it; filled in by the app. */
export interface ToolPorts {
  search: SearchProvider;
  pages: PageReader;
  sources: SourceStore;
  scratchpad: ScratchpadReader;
  /** Hands a scratchpad write to its service and waits for the settled row. Safe to repeat under the same tool call. */
  writeScratchpad(caller: ToolCaller, signal: AbortSignal): Promise<ToolResult>;
  pageChars: number;
}

/** What a settled call leaves behind, committed in one transaction. */
export interface SettledOutcome {
  kind: 'settled';
  result: ToolResult;
  /** A newly fetched page to store; the result refers to it by `sourceId`. */
  source?: { id: SourceId; page: FetchedPage };
  /** Facts for observers that ride in the same commit. */
  events?: DurableEventBody[];
  /** The row was settled by its owner (the scratchpad service) already: nothing is left to write but the tool message. */
  alreadySettled?: boolean;
}

export type ToolOutcome = SettledOutcome | { kind: 'deferred' };

/** Prices of operations come from the ledger's table; `null` is free. */
export type ToolPrice = Extract<Operation, 'search' | 'read'> | null;

/**
 * One tool: everything about it in one file. `execute` throws `QuaestorError` for a failure the model should read; it becomes an error
 * result. A repeat under the same `toolCallId` must have no second effect.
 */
export interface ToolSpec<Arguments = unknown> {
  name: string;
  capability: Capability;
  /** Roles that get the tool when they subscribe to its capability. */
  roles: readonly AssistantRole[];
  /** Told to the model. */
  description: string;
  /** Strict: unknown members are refused. */
  parameters: z.ZodType<Arguments>;
  effect: 'read' | 'scratchpad-read' | 'scratchpad-write' | 'delegate';
  price: ToolPrice;
  /** Longest execution; the call then ends with `TOOL_TIMEOUT`. */
  timeoutMs: number;
  /** The public word for what it does; the tool's name never reaches a client. */
  activity: ActivityWord;
  /** One short public sentence about this call, from parsed arguments. */
  announce(args: Arguments): string;
  /**
   * True when this very call costs nothing although its tool has a price: a page that is stored already, or an address that `execute`
   * will refuse before any byte is sent. Asked once, before the reservation. Sends nothing and changes nothing. Absent: always priced.
   */
  isFree?(args: Arguments, caller: ToolCaller, ports: ToolPorts): Promise<boolean>;
  /** Two calls of this tool with one identity ask for the same. Absent: the arguments themselves. Pure; never throws. */
  identity?(args: Arguments, ports: ToolPorts): string;
  /** True when the same call may give something else the next time, so that it is never answered from the record. Absent: it may not. */
  mayDiffer?(args: Arguments): boolean;
  /** Throws `QuaestorError`; settles with a result, or defers to another run. Safe to repeat under the same `toolCallId`. */
  execute(args: Arguments, caller: ToolCaller, ports: ToolPorts, signal: AbortSignal): Promise<ToolOutcome>;
}

/** A call that is to run alone. */
export interface IsolatedCall {
  /** Name of its tool. */
  tool: string;
  /** Parsed. */
  args: unknown;
  caller: ToolCaller;
  /** Longest execution, counted from the moment its process has started. */
  timeoutMs: number;
}

/** Runs single calls alone, each in a process of its own, when they are suspected of killing the process they run in. */
export interface ToolIsolation {
  /**
   * As `ToolSpec.execute`, with the same errors, and `TOOL_TIMEOUT`. Throws `TOOL_KILLED_PROCESS` when the call's process died in it. An abort
   * of the signal ends that process and rejects with the signal's reason.
   */
  execute(call: IsolatedCall, signal: AbortSignal): Promise<SettledOutcome>;
}

export type { SearchHit };
