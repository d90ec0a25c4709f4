import type { ModelRoster, OpenWork, OutboxJob, PromptPolicy, RunJournal, ToolIsolation, ToolPorts, ToolSpec } from '#domain';
import type { LimitHit, LiveNews, ReadTier, RunId, ScratchpadThreadId, TenantId } from '#contracts';
import type { AgentObserver } from './observer.ts';

/** Everything the loop reaches outside itself; the app fills it in once per process. */
export interface AgentDependencies {
  journal: RunJournal;
  models: ModelRoster;
  /** How pages are fetched here, which decides what a read costs. */
  readTier: ReadTier;
  /** How large prompts may get; older groups are left out above it. */
  prompts: PromptPolicy;
  tools: readonly ToolSpec[];
  ports: ToolPorts;
  /** For calls that are suspected of killing their process. */
  isolation: ToolIsolation;
  /** Adds jobs whose rows are committed. */
  send(jobs: OutboxJob[]): Promise<void>;
  /** Observers of this root run should look again. */
  touched(rootRunId: RunId): void;
  /** Live text of the root run's own model call, and its end once the settlement is committed; lost news are no loss. */
  live(rootRunId: RunId, news: LiveNews): void;
  /** Limits that any run of this tree has met so far. */
  limitsMet(rootRunId: RunId): Promise<LimitHit[]>;
  /** What the tree, and the runs it continues, asked for, failed at and left open. */
  openWork(rootRunId: RunId): Promise<OpenWork>;
  findings(tenantId: TenantId, threadId: ScratchpadThreadId): Promise<string[]>;
  observer: AgentObserver;
  nowMs(): number;
  /** Waits for so many milliseconds, or until the signal aborts; never throws. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
  random(): number;
  randomBytes(): Uint8Array;
}

/** Signals that end or interrupt a run that this process holds. */
export interface RunSignals {
  /** Aborts with a `QuaestorError`: `LEASE_LOST` or `RUN_CANCELLED`. */
  abort: AbortSignal;
  /** Aborts when the process drains: the run is handed over at its next turn boundary. */
  drain: AbortSignal;
}

/** How the loop let go of a run. */
export type AgentExit = 'ended' | 'parked' | 'released';
