import { z } from 'zod';

/** Public run states: queued -> running <-> waiting -> one terminal state, once. */
export const RunStatus = z.enum(['queued', 'running', 'waiting', 'completed', 'incomplete', 'failed', 'cancelled']);
export type RunStatus = z.infer<typeof RunStatus>;

export const TERMINAL_STATUSES = ['completed', 'incomplete', 'failed', 'cancelled'] as const satisfies RunStatus[];
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];
export const isTerminal = (status: RunStatus): status is TerminalStatus => (TERMINAL_STATUSES as readonly RunStatus[]).includes(status);

/** Why a run ended; always set at the end, and exactly one. */
export const StopReason = z.enum([
  'answered',
  'insufficient_evidence',
  'budget_exhausted',
  'deadline_reached',
  'turns_exhausted',
  'loop_detected',
  'cancelled',
  'provider_failed',
  'internal_error',
]);
export type StopReason = z.infer<typeof StopReason>;

/** The one table from stop reason to terminal state and to the exit code of the command line. */
export const STOP_REASONS: Record<StopReason, { status: TerminalStatus; exitCode: number }> = {
  answered: { status: 'completed', exitCode: 0 },
  insufficient_evidence: { status: 'incomplete', exitCode: 3 },
  budget_exhausted: { status: 'incomplete', exitCode: 4 },
  deadline_reached: { status: 'incomplete', exitCode: 4 },
  turns_exhausted: { status: 'incomplete', exitCode: 4 },
  loop_detected: { status: 'incomplete', exitCode: 4 },
  cancelled: { status: 'cancelled', exitCode: 5 },
  provider_failed: { status: 'failed', exitCode: 6 },
  internal_error: { status: 'failed', exitCode: 6 },
};

/** Exit codes that have no run behind them. */
export const EXIT_CODES = { usage: 2, unavailable: 7, interrupted: 130 } as const;

/** Soft limits that were met without ending the run. */
export const LimitHit = z.enum(['source_cap', 'delegation_limit', 'credits', 'deadline', 'turns', 'output_truncated']);
export type LimitHit = z.infer<typeof LimitHit>;

/** What an assistant subscribes to; expanded to tools when its context is built, never persisted as tools. */
export const Capability = z.enum(['web_search', 'scratchpad', 'delegation']);
export type Capability = z.infer<typeof Capability>;

export const AssistantRole = z.enum(['supervisor', 'worker']);
export type AssistantRole = z.infer<typeof AssistantRole>;

/** A priced operation of the ledger. */
export const Operation = z.enum(['search', 'read', 'model', 'finish']);
export type Operation = z.infer<typeof Operation>;

/** How a page is fetched, which decides its price: 0 directly, 1 to 3 through ever dearer proxies. */
export const ReadTier = z.union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)]);
export type ReadTier = z.infer<typeof ReadTier>;

/** How one model attempt ended. Only `message` outcomes enter later prompts. */
export const AttemptOutcome = z.enum([
  'completed',
  'truncated',
  'interrupted',
  'failed',
  'filtered',
  'empty',
  'cancelled',
  'lost',
]);
export type AttemptOutcome = z.infer<typeof AttemptOutcome>;

/** States of a tool call; every one but `open` is final, and exactly one result exists then. */
export const ToolCallStatus = z.enum(['open', 'succeeded', 'failed', 'refused', 'cancelled', 'unknown']);
export type ToolCallStatus = z.infer<typeof ToolCallStatus>;
