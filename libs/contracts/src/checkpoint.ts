import { z } from 'zod';
import { BudgetView, SourceView } from './http.ts';
import { RunId } from './ids.ts';
import * as limits from './limits.ts';
import { LimitHit, RunStatus, StopReason } from './runs.ts';

/** Continues a stopped run as its successor. At least what it stopped for has to be given. */
export const ResumeRunRequest = z.strictObject({
  credits: z.number().min(0).max(limits.BUDGET_CREDITS_MAX).optional().describe('Credits on top of what the run had left. Default 0.'),
  seconds: z.number().int().positive().max(limits.DEADLINE_SECONDS_MAX).optional().describe('Seconds from now. Default: what the run had left when it stopped.'),
  source_cap: z.number().int().positive().max(limits.SOURCE_CAP_MAX).optional().describe('Further useful sources the successor may read. Default: the cap of the run.'),
});
export type ResumeRunRequest = z.infer<typeof ResumeRunRequest>;

export const FailureView = z.object({ stage: z.enum(['search', 'read', 'task']), target: z.string(), code: z.string() });
export type FailureView = z.infer<typeof FailureView>;

export const RemainingWorkView = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('task'), task: z.string() }),
  z.object({ kind: z.literal('search'), query: z.string() }),
  z.object({ kind: z.literal('read'), url: z.string(), title: z.string() }),
]);
export type RemainingWorkView = z.infer<typeof RemainingWorkView>;

/** Where a run and the runs before it stand, at any time: enough to judge it, to archive it, and to go on with it. */
export const CheckpointView = z.object({
  object: z.literal('checkpoint'),
  run_id: RunId,
  resumed_from: RunId.nullable(),
  status: RunStatus,
  stop_reason: StopReason.nullable(),
  limits_hit: z.array(LimitHit),
  question: z.string(),
  queries: z.array(z.string()),
  declared: z.object({
    budget_credits: z.number(),
    deadline_at: z.string(),
    source_cap: z.number().int(),
    workers: z.number().int(),
    allowed_hosts: z.array(z.string()).nullable(),
    denied_hosts: z.array(z.string()),
  }),
  budget: BudgetView,
  /** Credits reserved or spent, unknown outcomes included. */
  reserved_estimate: z.number(),
  remaining_estimate: z.number(),
  /** Credits of calls whose end nobody saw; spent until they are reconciled. */
  unknown_estimate: z.number(),
  elapsed_seconds: z.number(),
  deadline_reached: z.boolean(),
  /** Never a secret. */
  provider: z.object({ model: z.string(), model_provider: z.string().nullable(), search_provider: z.string() }),
  sources: z.array(SourceView),
  failures: z.array(FailureView),
  remaining_work: z.array(RemainingWorkView),
  /** Collecting sources never makes an answer ready: claims have to be reviewed by somebody. */
  answer_ready: z.literal(false),
});
export type CheckpointView = z.infer<typeof CheckpointView>;
