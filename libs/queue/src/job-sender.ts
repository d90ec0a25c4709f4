import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { QUEUES, QUEUE_NAMES, type QueueName } from '#contracts';
import type { OutboxJob } from '#domain';
import { crashPoint } from '#planted';

/** Rows of jobs that were added may go; called with many at once. */
export interface SentMarker {
  markSent(jobIds: string[]): Promise<void>;
}

export interface JobSenderOptions {
  redis: Redis;
  prefix: string;
  outbox: SentMarker;
  /** How long marks are gathered before they are written, milliseconds. Default 100. */
  markDelayMs?: number;
  onError(error: unknown): void;
}

const MARK_DELAY_MS = 100;
/** BullMQ waits without end for a Redis that was never there; whoever has a run to advance must not. */
const ADD_TIMEOUT_MS = 2_000;

/**
 * Adds jobs whose rows are committed. Adding the same job twice is a no-op, so a caller that does not know whether it did may do it again.
 * A failed add is reported and left to the sweeper: the outbox row is still there.
 */
export class JobSender {
  readonly #queues = new Map<QueueName, Queue>();
  readonly #options: JobSenderOptions;
  #sent: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JobSenderOptions) {
    this.#options = options;
    for (const name of QUEUE_NAMES) {
      const queue = new Queue(name, { connection: options.redis, prefix: options.prefix, skipVersionCheck: true });
      queue.on('error', (error) => options.onError(error));
      this.#queues.set(name, queue);
    }
  }

  /** BullMQ's own objects, for the dashboard adapter. */
  get queues(): Queue[] {
    return [...this.#queues.values()];
  }

  async send(jobs: readonly OutboxJob[]): Promise<void> {
    const batches = QUEUE_NAMES.map((name) => ({ name, mine: jobs.filter((job) => job.queue === name) })).filter(({ mine }) => mine.length > 0);
    for (const [position, { name, mine }] of batches.entries()) {
      if (position > 0) crashPoint('K13');
      await this.#add(name, mine);
    }
  }

  async #add(name: QueueName, jobs: OutboxJob[]): Promise<void> {
    const { keepCompleted, keepFailed } = QUEUES[name];
    const opts = {
      removeOnComplete: { age: keepCompleted.ageSeconds, count: keepCompleted.count },
      removeOnFail: { age: keepFailed.ageSeconds, count: keepFailed.count },
    };
    try {
      const queue = this.#queues.get(name);
      if (!queue) throw new Error(`no queue ${name}`);
      if (jobs.length === 1 && jobs[0]) await inTime(queue.add(name, jobs[0].payload, { ...opts, jobId: jobs[0].jobId }));
      else await inTime(queue.addBulk(jobs.map((job) => ({ name, data: job.payload, opts: { ...opts, jobId: job.jobId } }))));
      this.#mark(jobs.map((job) => job.jobId));
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #mark(jobIds: string[]): void {
    this.#sent.push(...jobIds);
    this.#timer ??= setTimeout(() => void this.flush(), this.#options.markDelayMs ?? MARK_DELAY_MS);
  }

  /** Writes gathered marks now. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const jobIds = this.#sent.splice(0);
    if (jobIds.length === 0) return;
    crashPoint('K02');
    try {
      await this.#options.outbox.markSent(jobIds);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async close(): Promise<void> {
    await this.flush();
    await Promise.all(this.queues.map((queue) => queue.close()));
  }
}

async function inTime(added: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis did not take a job within ${ADD_TIMEOUT_MS} ms.`)), ADD_TIMEOUT_MS);
  });
  try {
    await Promise.race([added, late]);
  } finally {
    clearTimeout(timer);
  }
}
