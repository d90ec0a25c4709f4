import { z } from 'zod';
import { RunId, SourceId, SequenceNo } from './ids.ts';
import { EstimateMode, MoneyView, WarningView } from './estimates.ts';
import { HostEntry, HOSTS_MAX } from './host-policy.ts';
import * as limits from './limits.ts';
import { LimitHit, RunStatus, StopReason } from './runs.ts';

/** HTTP bodies: snake_case on the wire. Unknown members are refused, so that a misspelt limit is never silently ignored. */
export const CreateRunRequest = z.strictObject({
  question: z.string().describe('What to research. Control characters are stripped; must not be empty afterwards.'),
  budget_credits: z.number().min(0).max(limits.BUDGET_CREDITS_MAX).optional().describe('Credits the run may spend. 0 starts no paid call.'),
  deadline_seconds: z.number().int().positive().max(limits.DEADLINE_SECONDS_MAX).optional().describe('Wall clock from acceptance.'),
  source_cap: z.number().int().positive().max(limits.SOURCE_CAP_MAX).optional().describe('Useful sources the run may read.'),
  workers: z.number().int().positive().max(limits.WORKERS_PARALLEL_MAX).optional().describe('Workers of this run that may work at once.'),
  allowed_hosts: z.array(HostEntry).min(1).max(HOSTS_MAX).optional().describe('Hosts whose pages the run may read, exactly and over https, such as `example.org`; `host:port` and `http://host` name exceptions. Default: any public host.'),
  denied_hosts: z.array(HostEntry).max(HOSTS_MAX).optional().describe('Hosts whose pages the run may not read; wins over allowed_hosts.'),
  estimate_mode: EstimateMode.optional().describe('What a forecast above budget_credits does: `off` nothing, `warn` a warning in the answer, `enforce` refuses the run; `cap` warns, and lowers a budget that is more than enough. Default: as the gateway is set.'),
});
export type CreateRunRequest = z.infer<typeof CreateRunRequest>;

/** Going on from a turn of a run that is there already. */
export const ForkRunRequest = z.strictObject({
  from_turn: z.number().int().positive().describe('The first turn that is asked for anew, from 1; the turns before it are taken over.'),
  budget_credits: z.number().min(0).max(limits.BUDGET_CREDITS_MAX).optional().describe('Credits the fork may spend; what it takes over costs nothing.'),
  deadline_seconds: z.number().int().positive().max(limits.DEADLINE_SECONDS_MAX).optional().describe('Wall clock from acceptance.'),
});
export type ForkRunRequest = z.infer<typeof ForkRunRequest>;

/** Credits. `forecast` is what the whole run is expected to spend; null where nobody has estimated it. */
export const BudgetView = z.object({ limit: z.number(), reserved: z.number(), spent: z.number(), left: z.number(), overruns: z.number(), forecast: z.number().nullable().default(null) });
export type BudgetView = z.infer<typeof BudgetView>;

export const UsageView = z.object({
  model_calls: z.number().int(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  tool_calls: z.number().int(),
  workers: z.number().int(),
});
export type UsageView = z.infer<typeof UsageView>;

export const RunView = z.object({
  id: RunId,
  object: z.literal('run'),
  status: RunStatus,
  stop_reason: StopReason.nullable(),
  limits_hit: z.array(LimitHit),
  /** The run this one was forked from, and the newest turn it took over; null for a run of its own. */
  forked_from: z.object({ run_id: RunId, turn: z.number().int().nonnegative() }).nullable().default(null),
  question: z.string(),
  report: z.string().nullable(),
  model: z.string(),
  last_error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** The stopped run that this one continues, and the one that continues it. */
  resumed_from: RunId.nullable(),
  resumed_by: RunId.nullable(),
  budget: BudgetView,
  /** What has been spent, overruns included, in money; null where a credit has no price. */
  cost: MoneyView.nullable().default(null),
  usage: UsageView,
  created_at: z.string(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  deadline_at: z.string(),
  cancel_requested_at: z.string().nullable(),
  elapsed_ms: z.number().int().nullable(),
  /** What the gateway had to say when it accepted the run; empty in every later answer. */
  warnings: z.array(WarningView).default([]),
});
export type RunView = z.infer<typeof RunView>;

export const CitationView = z.object({
  quote: z.string(),
  /** Character position of the quote in the stored text of the source. */
  start: z.number().int(),
  end: z.number().int(),
});
export type CitationView = z.infer<typeof CitationView>;

export const SourceView = z.object({
  id: SourceId,
  object: z.literal('source'),
  url: z.string(),
  final_url: z.string(),
  title: z.string(),
  media_type: z.string(),
  body_sha256: z.string(),
  fetched_at: z.string(),
  claim_review: z.string(),
  /** Its number in the report, or null when the report does not cite it. */
  citation_number: z.number().int().positive().nullable(),
  citations: z.array(CitationView),
});
export type SourceView = z.infer<typeof SourceView>;

export const FindingView = z.object({
  sequence_no: SequenceNo,
  author: z.enum(['supervisor', 'research_worker']),
  text: z.string(),
  created_at: z.string(),
});
export type FindingView = z.infer<typeof FindingView>;

export const ScratchpadView = z.object({
  object: z.literal('scratchpad'),
  body: z.string(),
  revision: z.number().int(),
  entries: z.array(FindingView),
});
export type ScratchpadView = z.infer<typeof ScratchpadView>;

/** Conversation messages as people see them: the root run's own thread, without tool names or arguments. */
export const MessageView = z.object({
  sequence_no: SequenceNo,
  role: z.enum(['user', 'assistant', 'tool']),
  content: z.string(),
  is_error: z.boolean(),
  /** What had come of an answer when its run was cancelled: shown to people, in no prompt and in no report. Its number is for order alone. */
  interrupted: z.literal(true).optional(),
  created_at: z.string(),
});
export type MessageView = z.infer<typeof MessageView>;

export const ListView = <Item extends z.ZodType>(item: Item) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
export interface List<Item> {
  object: 'list';
  data: Item[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** What this installation is: shown by clients, never needed to use it. */
export const InfoView = z.object({
  object: z.literal('info'),
  version: z.string(),
  model: z.string(),
  search_provider: z.string(),
  /** Name of the document folder that stands in for the web, or null. Never its path. */
  docs_folder: z.string().nullable(),
});
export type InfoView = z.infer<typeof InfoView>;

/** The one error shape. */
export const ErrorView = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    /** The part of the request to fix, when there is one, such as `budget_credits`. */
    param: z.string().nullable(),
    request_id: z.string(),
  }),
});
export type ErrorView = z.infer<typeof ErrorView>;
