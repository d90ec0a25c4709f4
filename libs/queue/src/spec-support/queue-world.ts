import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { RunId, ToolCallId } from '#contracts';
import { mintId, type OutboxJob } from '#domain';
import { testServices } from '#testing';
import { connectRedis } from '../connection.ts';
import { JobSender } from '../job-sender.ts';
import { queuePrefix } from '../names.ts';

export const newCallId = (): ToolCallId => mintId('call', randomBytes(17));
export const newRunId = (): RunId => mintId('run', randomBytes(17));
export const callJob = (toolCallId: ToolCallId, delivery = 1): OutboxJob => ({ queue: 'scratchpad', jobId: `${toolCallId}.${delivery}`, payload: { toolCallId } });

/** A queue prefix of its own on the shared Redis, with a sender. */
export class QueueWorld {
  readonly redisUrl: string;
  readonly prefix = queuePrefix(`test-${randomBytes(6).toString('hex')}`);
  readonly errors: unknown[] = [];
  readonly marked: string[][] = [];
  readonly sender: JobSender;
  readonly redis: Redis;

  static async open(): Promise<QueueWorld> {
    return new QueueWorld((await testServices()).redisUrl);
  }

  private constructor(redisUrl: string) {
    this.redisUrl = redisUrl;
    this.redis = this.connect();
    this.sender = new JobSender({ redis: this.redis, prefix: this.prefix, outbox: { markSent: async (jobIds) => void this.marked.push(jobIds) }, markDelayMs: 10, onError: this.onError });
  }

  onError = (error: unknown): void => void this.errors.push(error);

  /** Waits for Redis like a processor does. */
  connect(): Redis {
    return connectRedis(this.redisUrl, 'consumer', this.onError);
  }

  async keys(): Promise<string[]> {
    return this.redis.keys(`${this.prefix.replaceAll(/[[\]?*\\]/g, '\\$&')}:*`);
  }

  async close(): Promise<void> {
    await this.sender.close();
    const keys = await this.keys();
    if (keys.length > 0) await this.redis.del(keys);
    this.redis.disconnect();
  }
}
