import { QueueEvents } from 'bullmq';
import { Redis } from 'ioredis';
import type { QueueName, ToolCallId } from '#contracts';
import { redisOptions } from './connection.ts';

export interface CompletionOptions {
  redisUrl: string;
  prefix: string;
  onError(error: unknown): void;
}

/**
 * One listener per process and queue for job completion events, keyed by tool call. It starts at the newest stream id: without that, 7
 * of 20 first events of a fresh process were lost. An event is only a wake-up: who hears it reads the row.
 */
export class Completions {
  readonly #events: QueueEvents;
  readonly #redis: Redis;
  readonly #listeners = new Set<(toolCallId: ToolCallId) => void>();

  static async open(queue: Exclude<QueueName, 'runs'>, options: CompletionOptions): Promise<Completions> {
    const redis = new Redis(options.redisUrl, redisOptions('consumer'));
    redis.on('error', (error) => options.onError(error));
    const newest = (await redis.xrevrange(`${options.prefix}:${queue}:events`, '+', '-', 'COUNT', 1)) as [string, string[]][];
    return new Completions(queue, redis, newest[0]?.[0] ?? '0-0', options);
  }

  private constructor(queue: QueueName, redis: Redis, lastEventId: string, options: CompletionOptions) {
    this.#redis = redis;
    this.#events = new QueueEvents(queue, { connection: redis, prefix: options.prefix, lastEventId, skipVersionCheck: true });
    this.#events.on('error', (error) => options.onError(error));
    const hear = ({ jobId }: { jobId: string }) => {
      const toolCallId = jobId.slice(0, jobId.lastIndexOf('.')) as ToolCallId;
      for (const listener of this.#listeners) listener(toolCallId);
    };
    this.#events.on('completed', hear);
    this.#events.on('failed', hear);
  }

  /** Calls `listener` for each completed or failed job; returns the way to stop. */
  listen(listener: (toolCallId: ToolCallId) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.#events.close();
    this.#redis.disconnect();
  }
}
