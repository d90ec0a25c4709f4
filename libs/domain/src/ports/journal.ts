import type {
  AssistantId,
  AssistantRole,
  AttemptId,
  Capability,
  ConversationThreadId,
  DurableEventBody,
  ErrorResult,
  HostPolicy,
  LimitHit,
  Operation,
  Reasoning,
  ReservationId,
  RunId,
  RunStatus,
  ScratchpadThreadId,
  SourceId,
  StopReason,
  TenantId,
  ToolCallId,
  ToolCallStatus,
  ToolResult,
} from '#contracts';
import type { AttemptPosition } from '../budget/effect-key.ts';
import type { Ledger } from '../budget/ledger.ts';
import type { PromptHistory } from '../conversation/prompt-history.ts';
import type { AttemptRecord } from './attempt-record.ts';
import type { FetchedPage } from './web.ts';

/** The right to write a run: every write of a claimant carries it; a stale epoch changes nothing and throws `LEASE_LOST`. */
export interface Fence {
  tenantId: TenantId;
  runId: RunId;
  rootRunId: RunId;
  leaseEpoch: number;
  /** Of the database that the run was claimed in: a restored one may hold an older copy of the run under the very same lease. */
  incarnation: string;
}

export interface RunRecord {
  id: RunId;
  tenantId: TenantId;
  rootRunId: RunId;
  parentToolCallId: ToolCallId | null;
  conversationThreadId: ConversationThreadId;
  scratchpadThreadId: ScratchpadThreadId;
  assistantId: AssistantId;
  role: AssistantRole;
  workerNumber: number | null;
  turn: number;
  turnsMax: number;
  leaseEpoch: number;
  limitsHit: LimitHit[];
  createdAtMs: number;
  /** Milliseconds until the deadline by the database's clock, at the moment of loading; negative when it has passed. */
  msLeft: number;
  cancelRequested: boolean;
  /** Hosts whose pages the whole tree may read; null is any. */
  hostPolicy: HostPolicy | null;
}

export interface AssistantRecord {
  id: AssistantId;
  role: AssistantRole;
  instructions: string;
  capabilities: Capability[];
}

/** A tool call row. `closed` means that its tool message exists. */
export interface CallRecord {
  toolCallId: ToolCallId;
  attemptId: AttemptId;
  turn: number;
  callIndex: number;
  providerCallId: string | null;
  name: string;
  arguments: string;
  /** That of its tool, or `none` when it was refused unparsed. */
  effect: string;
  /** Made by an earlier run of the chain: known, and never carried out again. */
  inherited: boolean;
  status: ToolCallStatus;
  /** Processes that died while it was executing in them. */
  deaths: number;
  result: ToolResult | null;
  reservation: OpenReservation | null;
  closed: boolean;
}

export interface MessageRecord {
  role: 'user' | 'assistant' | 'tool';
  content: string;
  reasoning: Reasoning | null;
  /** Who wrote it (`vendorOf`); null for a message that no model wrote. `replay` is what only that vendor gets back. */
  vendor: string | null;
  replay?: unknown;
  attemptId: AttemptId | null;
  toolCallId: ToolCallId | null;
  /** An answer that was cut at the length limit: as the newest message it waits for its continuation. */
  truncated: boolean;
}

export interface OpenReservation {
  id: ReservationId;
  operation: Operation;
  estimate: number;
}

/** A run as its claimant finds it, in one consistent read. */
export interface LoadedRun {
  run: RunRecord;
  assistant: AssistantRecord;
  messages: MessageRecord[];
  calls: CallRecord[];
  ledger: Ledger;
  /** Attempts already begun in the turn after `run.turn`, settled or lost. */
  attemptsBegun: number;
  /** Those of them that failed; one that was lost with its process is not the model's failure. */
  attemptsFailed: number;
  /** Finishing calls that this run has begun; all of them were lost with their processes. */
  finishesBegun: number;
  /** What its settled prompts say about the next one. */
  prompts: PromptHistory;
  /** The finishing allowance of the root run, when it is still held. */
  finishReservation: OpenReservation | null;
}

export interface NewReservation {
  id: ReservationId;
  effectKey: string;
  operation: Operation;
  estimate: number;
}

/** Books `charge` for an open reservation of this run. */
export interface Charge {
  reservation: OpenReservation;
  charge: number;
}

/** A call as the settlement stores it: open, or ended at once (bad arguments, refused). */
export interface NewCall {
  toolCallId: ToolCallId;
  callIndex: number;
  providerCallId: string | null;
  name: string;
  arguments: string;
  effect: string;
  /** Set when the call ends with the settlement itself. */
  refusal: ErrorResult | null;
  /** The result of the same call made before, with which it ends at once; null otherwise. */
  recorded: ToolResult | null;
  /** What its execution reserves; null when free. When the ledger refuses, the call ends as `BUDGET_EXHAUSTED`. */
  reservation: NewReservation | null;
  /** Present for a delegation: the worker run to create. */
  delegation: NewWorkerRun | null;
  /** Present for a scratchpad write: it needs a job. */
  scratchpadJob: boolean;
  startedEvents: DurableEventBody[];
}

export interface NewWorkerRun {
  runId: RunId;
  threadId: ConversationThreadId;
  task: string;
  prompt: string;
}

export interface TurnSettlement {
  attempt: AttemptRecord;
  charge: Charge | null;
  /** Null for a log-only attempt. */
  message: { content: string; reasoning: Reasoning | null; vendor: string; replay?: unknown } | null;
  calls: NewCall[];
  limitsHit: LimitHit[];
  events: DurableEventBody[];
}

export interface SettledTurn {
  calls: { toolCallId: ToolCallId; status: ToolCallStatus; result: ToolResult | null; reservation: OpenReservation | null }[];
  ledger: Ledger;
  /** Soft limits that calls of this answer were refused for. */
  limitsHit: LimitHit[];
  cancelRequested: boolean;
  /** Jobs to add now that their rows are committed. */
  jobs: OutboxJob[];
}

export interface OutboxJob {
  queue: 'runs' | 'delegations' | 'scratchpad';
  jobId: string;
  payload: Record<string, string>;
}

export interface SettledCall {
  toolCallId: ToolCallId;
  result: ToolResult;
  charge: Charge | null;
  source: { id: SourceId; page: FetchedPage } | null;
  events: DurableEventBody[];
  /** True when its owner settled the row: only the tool message is missing. */
  alreadySettled: boolean;
  /** True when it killed a process of its own: counted with the result. */
  killedProcess: boolean;
}

export interface TurnClosing {
  /** Calls that end now. */
  settled: SettledCall[];
  /** Set when every call of the turn has a result: writes the tool messages in call order. */
  close: { toolCallIds: ToolCallId[] } | null;
  /** The next model call's reservation, in the same commit. */
  nextReservation: NewReservation | null;
}

export interface ClosedTurn {
  ledger: Ledger;
  nextReservation: OpenReservation | null;
  cancelRequested: boolean;
  /** Stored results of calls that another process had settled first: they win. */
  results: Map<ToolCallId, ToolResult>;
  sourceCapReached: boolean;
}

/** How a run ends. */
export interface RunEnding {
  status: Extract<RunStatus, 'completed' | 'incomplete' | 'failed' | 'cancelled'>;
  stopReason: StopReason;
  error: { code: string; message: string } | null;
  limitsHit: LimitHit[];
  report: string | null;
  citations: string | null;
  /** For a worker run: the result of the delegation that it answers. */
  delegationResult: ToolResult | null;
  events: DurableEventBody[];
}

/**
 * Durable effects of the loop. Each method is one transaction under the run's row lock, checks the fence first (`LEASE_LOST`), and is
 * safe to repeat as a whole after an error whose outcome is unknown: the second one finds what the first committed, changes nothing and
 * gives the same answer. Only a claim is not, whose caller cannot tell its own from another's.
 */
export interface RunJournal {
  /**
   * Takes the lease of a run that is free (queued, woken, or lapsed) and loads it. Null when there is nothing to do: the run is held,
   * waits for open calls, or has ended. `reserveFirst` may reserve for the first step in the same commit;
   * it is not asked when the run was cancelled.
   */
  claim(runId: RunId, reserveFirst: (loaded: LoadedRun) => NewReservation[]): Promise<ClaimedRun | null>;
  settleTurn(fence: Fence, settlement: TurnSettlement): Promise<SettledTurn>;
  closeTurn(fence: Fence, closing: TurnClosing): Promise<ClosedTurn>;
  /**
   * Notes that the finishing allowance is used by this attempt, before its call is made: should the process die in it, the attempt is
   * found lost and its outcome stays spent.
   */
  beginFinish(fence: Fence, reservation: OpenReservation, position: AttemptPosition): Promise<{ cancelRequested: boolean }>;
  /** Lets go of the run while deferred calls are open. False when none is open any more: the run goes on. */
  park(fence: Fence): Promise<boolean>;
  /** Ends the run, optionally with its last settlement in the same commit. Open calls get a result; open reservations are booked. */
  endRun(fence: Fence, settlement: TurnSettlement | null, ending: RunEnding): Promise<EndedRun>;
  /** Results of settled calls, for a run that found them settled when it was about to park. */
  results(fence: Fence, toolCallIds: ToolCallId[]): Promise<Map<ToolCallId, ToolResult>>;
  /** Hands the run back at a turn boundary (drain): the next claim is immediate. */
  release(fence: Fence): Promise<OutboxJob[]>;
}

export interface ClaimedRun {
  loaded: LoadedRun;
  fence: Fence;
  /** Those of `reserveFirst` that the ledger admitted, by operation. */
  reservations: OpenReservation[];
  refused: Operation[];
}

export interface EndedRun {
  /** The parent's wake and the next queued sibling, to send now. */
  jobs: OutboxJob[];
}
