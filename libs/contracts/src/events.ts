import { z } from 'zod';
import { RunId, SourceId } from './ids.ts';
import { AttemptOutcome, RunStatus, StopReason, LimitHit, AssistantRole } from './runs.ts';

/**
 * Events for observers: facts about one root run, ordered by `seq`. Internal tool names, arguments and prompts never appear here
 * (invariant Q-20): `tool` fields carry a public activity word.
 */
export const ActivityWord = z.enum(['search', 'read', 'find', 'scroll', 'note', 'notes', 'plan', 'delegation']);
export type ActivityWord = z.infer<typeof ActivityWord>;

const durable = {
  run_status: z.object({
    status: RunStatus,
    stop_reason: StopReason.optional(),
    limits_hit: z.array(LimitHit).optional(),
  }),
  research_status: z.object({
    activity: z.string(),
    tool: ActivityWord,
    state: z.enum(['in_progress', 'completed', 'error']),
    /** The delegation this belongs to, counted from 1 in the order the supervisor made them. */
    worker: z.number().int().positive().optional(),
  }),
  scratchpad_status: z.object({
    operation: z.enum(['read', 'update', 'append']),
    state: z.enum(['in_progress', 'success', 'completed', 'error']),
    activity: z.string().optional(),
    entry: z.string().optional(),
    content: z.string().optional(),
    assistant_id: z.string().optional(),
    origin: z.enum(['supervisor', 'research_worker']),
    worker: z.number().int().positive().optional(),
  }),
  web_status: z.object({
    tool: ActivityWord,
    status: z.enum(['running', 'success', 'error', 'warning']),
    message: z.string(),
    worker: z.number().int().positive().optional(),
  }),
  /** Credits. `forecast` is what the whole run is expected to spend, and never below what it has spent; absent where nobody has estimated it. */
  budget_status: z.object({ limit: z.number(), reserved: z.number(), spent: z.number(), left: z.number(), forecast: z.number().optional() }),
  source: z.object({
    source_id: SourceId,
    url: z.string(),
    title: z.string(),
    body_sha256: z.string(),
    worker: z.number().int().positive().optional(),
  }),
  settlement: z.object({
    role: AssistantRole,
    worker: z.number().int().positive().optional(),
    turn: z.number().int().positive(),
    attempt: z.number().int().positive(),
    outcome: AttemptOutcome,
    input_tokens: z.number().int().optional(),
    output_tokens: z.number().int().optional(),
    /** Error code for which the model before this one was given up. */
    fallback_reason: z.string().optional(),
  }),
  error: z.object({ code: z.string(), message: z.string() }),
};

const place = { turn: z.number().int().positive(), attempt: z.number().int().positive() };
/** `revision` rises with every frame of one sender; `index` counts the texts of an attempt from 0 without a hole. */
const frame = { ...place, revision: z.number().int().positive(), index: z.number().int().nonnegative() };

const transient = {
  reasoning: z.object({ content: z.string(), ...frame }),
  content: z.object({ content: z.string(), ...frame }),
  /** All text of the model call under way before `index`; it replaces whatever was shown of a call. Sent at its start and to whoever joins. */
  attempt: z.object({ ...frame, started_after_seq: z.number().int().nonnegative(), parts: z.array(z.object({ type: z.enum(['content', 'reasoning']), content: z.string() })) }),
  /** The end of that call: `index` texts in all. `committed`: its settlement is a durable event. `abandoned`: its text counts for nothing. */
  attempt_end: z.object({ ...frame, outcome: z.enum(['committed', 'abandoned']) }),
  gap: z.object({ after: z.number().int(), next: z.number().int() }),
};

/** The catalogue. A durable event is a row; a transient one is lost with its reader, and carries no `seq` of its own. */
export const EVENTS = { durable, transient } as const;

export type DurableEventType = keyof typeof durable;
export type TransientEventType = keyof typeof transient;

export type DurableEventBody = { [Type in DurableEventType]: { type: Type } & z.infer<(typeof durable)[Type]> }[DurableEventType];
export type TransientEventBody = { [Type in TransientEventType]: { type: Type } & z.infer<(typeof transient)[Type]> }[TransientEventType];

/** The envelope a client reads. `run_id` is always the root run. `seq` is dense from 1 for durable events and absent on transient ones. */
export const EventEnvelope = z.looseObject({
  type: z.string(),
  run_id: RunId,
  seq: z.number().int().positive().optional(),
  at: z.string(),
});
export type EventEnvelope = (DurableEventBody | TransientEventBody) & { run_id: RunId; seq?: number; at: string };
