import type { AttemptId, AttemptOutcome, Usage } from '#contracts';

export interface AttemptRecord {
  id: AttemptId;
  turn: number;
  attempt: number;
  /** A `summary` is a call that summarised groups that were left out, or should have. */
  kind: 'message' | 'attempt' | 'summary';
  outcome: AttemptOutcome;
  provider: string;
  model: string;
  /** Error code for which the model before this one was given up; null for the first model of a role. */
  fallbackReason: string | null;
  /** The compact stream, already encoded and compressed; null when nothing arrived. */
  stream: Buffer | Uint8Array | null;
  usage: Usage;
  error: { code: string; message: string } | null;
  startedAtMs: number;
  prompt: PromptRecord;
  /** What a call of kind `summary` wrote; null when it failed, and for all others. */
  summary: string | null;
}

/** What a prompt was, and the settings it was built with, so that a replay can build it again and hold it against the original. */
export interface PromptRecord {
  /** SHA-256 of messages and tools, lower-case hex. */
  sha256: string;
  /** Tokens it was allowed to take. */
  tokensMax: number;
  /** Characters of one page of a source. */
  pageChars: number;
  /** Own estimate of its tokens, before any correction. */
  tokens: number;
  /** Turns before whose model calls the pages of older turns were folded, this one included. */
  folds: readonly number[];
  /** Position in the history of the first message that was not left out, 0 when none was; null in a record of a version that cut each prompt anew. */
  cut: number | null;
}
