import type { AttemptId, AttemptOutcome, RunStatus, StopReason, ToolCallId } from '#contracts';
import type { PromptRecord } from './attempt-record.ts';
import type { CallRecord, LoadedRun } from './journal.ts';
import type { ScratchpadContent, Source } from './tool.ts';

/** One settled or lost attempt as it was stored. */
export interface RecordedAttempt {
  id: AttemptId;
  turn: number;
  attempt: number;
  /** A `summary` is a call that summarised groups that were left out, or should have. */
  kind: 'message' | 'attempt' | 'summary';
  outcome: AttemptOutcome;
  error: { code: string; message: string } | null;
  /** The compact stream as JSON text; null when nothing arrived. */
  stream: string | null;
  usage: { inputTokens: number; outputTokens: number; estimated: boolean };
  /** The one call of a run that was stopped, which writes its report. */
  finishing: boolean;
  rendererVersion: number;
  /** Null for attempts of a version that did not keep it, and for those that a fork took over. */
  prompt: PromptRecord | null;
  /** See `AttemptRecord.summary`. */
  summary: string | null;
}

/** Everything that is stored of one run. */
export interface RecordedRun {
  /** All of its messages and calls, whatever turn they belong to. */
  loaded: LoadedRun;
  /** How many of the messages, from the first, are of runs that this one continues. */
  earlierMessages: number;
  question: string;
  status: RunStatus;
  stopReason: StopReason | null;
  error: { code: string; message: string } | null;
  report: string | null;
  citations: string | null;
  attempts: RecordedAttempt[];
  /** Effect keys of every reservation the ledger granted this run, such as `model:<run>:<turn>:<attempt>`. */
  effects: ReadonlySet<string>;
  /** The newest turn that was taken over from another run; 0 for a run of its own. */
  forkedTurn: number;
}

export interface RecordedSource extends Source {
  toolCallId: ToolCallId;
  extraction: string;
  fetchedAt: string;
}

/** A root run with its worker runs and what it goes on from, complete enough to be executed again without a model and without a network. */
export interface RunTreeRecord {
  /** The root run first, then its workers by number. */
  runs: RecordedRun[];
  /** Of the runs that this one continues, their workers' included. */
  earlierCalls: CallRecord[];
  /** Of this run and those it continues. */
  sources: RecordedSource[];
  scratchpad: ScratchpadContent;
}
