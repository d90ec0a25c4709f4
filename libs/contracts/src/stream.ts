import type { Usage } from './messages.ts';

/** Why a model stopped. Only `stop` and `tool-calls` are good finishes (docs/decisions: attempt outcomes). */
export type FinishReason = { kind: 'stop' } | { kind: 'tool-calls' } | { kind: 'max-tokens' } | { kind: 'content-filter' };

export type BlockType = 'text' | 'reasoning' | 'tool-call';

/** Where a provider put its reasoning text; the same field carries it back in later prompts. */
export type ReasoningField = 'reasoning_content' | 'reasoning';

export type StreamBlock =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; field?: ReasoningField }
  | { type: 'tool-call'; id: string; name: string; arguments: string };

/**
 * What a provider delivers while it streams, in arrival order. `index` numbers blocks in first-seen order. A tool-call delta carries
 * the provider's own id (empty when it sent none) and the name once it is known.
 */
export type ModelChunk =
  | { type: 'block-start'; index: number; blockType: BlockType; field?: ReasoningField }
  | { type: 'text-delta'; index: number; text: string }
  | { type: 'reasoning-delta'; index: number; text: string }
  | { type: 'tool-call-delta'; index: number; id: string; name?: string; argumentsDelta: string }
  | { type: 'block-end'; index: number; block: StreamBlock }
  | { type: 'usage'; usage: Usage }
  | { type: 'finish'; reason: FinishReason; replayState?: unknown };

/** A chunk with its arrival time in epoch milliseconds (may be negative in tests; always a safe integer). */
export interface TimedChunk {
  time: number;
  chunk: ModelChunk;
}

/**
 * The compact stream kept with an attempt: consecutive deltas of one block become one run that keeps every delta boundary and time gap.
 * `dt[i] = time(i+1) - time(i)`, so `dt.length` is the member count minus one.
 */
export type StreamRecord =
  | { type: 'text-chunks'; time0: number; index: number; dt: number[]; texts: string[] }
  | { type: 'reasoning-chunks'; time0: number; index: number; dt: number[]; texts: string[] }
  | { type: 'tool-call-chunks'; time0: number; index: number; dt: number[]; id: string; name?: string; args: string[] }
  | { type: 'chunk'; time: number; chunk: ModelChunk };
