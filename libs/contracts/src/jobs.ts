import { z } from 'zod';
import { RunId, ToolCallId } from './ids.ts';

/** Everything a queue needs; a queue without all of them does not compile. */
export interface QueueDefinition<Payload> {
  /** Ids only: no prompt, page, key or user text ever reaches Redis job data. */
  schema: z.ZodType<Payload>;
  /** Jobs one process runs at once, unless its configuration says otherwise. */
  concurrency: number;
  lockDurationMs: number;
  stalledIntervalMs: number;
  /** High on purpose: attempts and poison counts live in MySQL, BullMQ counts nothing that matters. */
  maxStalledCount: number;
  keepCompleted: { ageSeconds: number; count: number };
  keepFailed: { ageSeconds: number; count: number };
}

const RunJob = z.strictObject({ runId: RunId });
const ToolCallJob = z.strictObject({ toolCallId: ToolCallId });

const SHIPPED = {
  lockDurationMs: 10_000,
  stalledIntervalMs: 5_000,
  maxStalledCount: 1_000,
  keepCompleted: { ageSeconds: 600, count: 2_000 },
  keepFailed: { ageSeconds: 86_400, count: 2_000 },
};

/** The queue catalogue: name -> definition. Adding a queue is one entry here and one processor. */
export const QUEUES = {
  /** Advances a root run. Job id `<runId>.<wakeNumber>`. */
  runs: { schema: RunJob, concurrency: 1_000, ...SHIPPED },
  /** Carries out one delegation. Job id `<toolCallId>.<delivery>`. */
  delegations: { schema: ToolCallJob, concurrency: 1_000, ...SHIPPED },
  /** One scratchpad write. Job id `<toolCallId>.<delivery>`. */
  scratchpad: { schema: ToolCallJob, concurrency: 16, ...SHIPPED },
} as const satisfies Record<string, QueueDefinition<unknown>>;

export type QueueName = keyof typeof QUEUES;
export type JobPayload<Name extends QueueName> = z.infer<(typeof QUEUES)[Name]['schema']>;
export const QUEUE_NAMES = Object.keys(QUEUES) as QueueName[];

/** `:` is refused by BullMQ in ids, and a re-add under an id that still exists is ignored: hence the counter after the dot. */
export const runJobId = (runId: RunId, wakeNumber: number): string => `${runId}.${wakeNumber}`;
export const toolCallJobId = (toolCallId: ToolCallId, delivery: number): string => `${toolCallId}.${delivery}`;
