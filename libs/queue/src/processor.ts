import { Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { QUEUES, QuaestorError, type JobPayload, type QueueName } from '#contracts';
import { crashPoint } from '#planted';
import { IDLE_WAIT_SECONDS } from './connection.ts';

/** After an error of Redis the next read is tried this soon; BullMQ's own 15 s would be most of a recovery. */
const RETRY_DELAY_MS = 1_000;

export interface ProcessorOptions {
  redis: Redis;
  prefix: string;
  /** Jobs this process runs at once. Default: the catalogue's. */
  concurrency?: number;
  /** How long one blocking read of an empty queue waits; a job ends it at once, so a longer wait only costs fewer wake-ups. Default 30. */
  idleWaitSeconds?: number;
  onError(error: unknown): void;
}

/**
 * Takes jobs of one queue. The payload is parsed before the handler sees it; a handler that settled its outcome returns, failed or not,
 * and throws only what could not be settled: that is reported, and the sweeper sends the job again. The signal aborts when the process drains.
 */
export class QueueProcessor<Name extends QueueName> {
  readonly #worker: Worker;
  readonly #drain = new AbortController();
  #active = 0;

  constructor(name: Name, handle: (payload: JobPayload<Name>, signal: AbortSignal) => Promise<void>, options: ProcessorOptions) {
    const definition = QUEUES[name];
    this.#worker = new Worker(
      name,
      async (job: Job) => {
        this.#active++;
        try {
          await handle(definition.schema.parse(job.data) as JobPayload<Name>, this.#drain.signal);
          crashPoint('K16');
        } catch (error) {
          options.onError(error);
          throw wordless(error);
        } finally {
          this.#active--;
        }
      },
      {
        connection: options.redis,
        prefix: options.prefix,
        concurrency: options.concurrency ?? definition.concurrency,
        lockDuration: definition.lockDurationMs,
        stalledInterval: definition.stalledIntervalMs,
        maxStalledCount: definition.maxStalledCount,
        drainDelay: options.idleWaitSeconds ?? IDLE_WAIT_SECONDS,
        runRetryDelay: RETRY_DELAY_MS,
        skipVersionCheck: true,
      },
    );
    this.#worker.on('error', (error) => options.onError(error));
  }

  get active(): number {
    return this.#active;
  }

  async ready(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  /** Stops taking jobs, tells running ones to hand over, and waits for them, at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await this.#worker.pause(true);
    if (this.#active > 0) crashPoint('K27');
    this.#drain.abort(new Error('draining'));
    await Promise.race([this.#worker.close(), new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
  }
}

/** BullMQ keeps message and stack of what a job threw: they may hold text of users, and Redis holds ids only. */
function wordless(error: unknown): Error {
  const kept = new Error(error instanceof QuaestorError ? error.code : error instanceof Error ? error.name : 'unknown');
  kept.stack = kept.message;
  return kept;
}
