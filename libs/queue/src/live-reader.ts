import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { LiveFrame, RunId } from '#contracts';
import { liveKey, liveWakeKey } from './names.ts';

export interface LiveReaderOptions {
  /** A connection that waits for Redis to come back; it is blocked most of the time and must not be shared. */
  blocking: Redis;
  /** For everything else. */
  redis: Redis;
  incarnation: string;
  /** Frames of a run in order. `isFirst`: the first after `follow`, or after Redis was away; what is kept is told again then. */
  onFrames: (runId: RunId, frames: LiveFrame[], isFirst: boolean) => void;
  onError: (error: unknown) => void;
}

interface Followed {
  runId: RunId;
  lastId: string;
}

const BLOCK_MS = 5_000;
const AFTER_FAILURE_MS = 500;
const WAKE_TTL_SECONDS = 60;
/** Each read names every run that is followed: with many of them, a moment's wait makes one read of many. */
const RUNS_READ_AT_ONCE = 32;
const GATHER_MS = 2;

type Reply = [key: string, entries: [id: string, fields: string[]][]][] | null;

/** Reads the live streams of all runs that somebody follows, over one blocking connection. */
export class LiveReader {
  readonly #options: LiveReaderOptions;
  readonly #wakeKey: string;
  readonly #followed = new Map<string, Followed>();
  #wakeId = '0';
  #isRunning = false;
  #isClosed = false;

  constructor(options: LiveReaderOptions) {
    this.#options = options;
    this.#wakeKey = liveWakeKey(options.incarnation, randomBytes(6).toString('hex'));
    // ids may have begun anew with an emptied Redis
    options.blocking.on('ready', () => this.#startOver());
  }

  get followedCount(): number {
    return this.#followed.size;
  }

  follow(runId: RunId): void {
    this.#followed.set(liveKey(this.#options.incarnation, runId), { runId, lastId: '0' });
    if (this.#isRunning) this.#wake();
    else void this.#run();
  }

  leave(runId: RunId): void {
    this.#followed.delete(liveKey(this.#options.incarnation, runId));
  }

  close(): void {
    this.#isClosed = true;
    this.#options.blocking.disconnect();
  }

  #startOver(): void {
    this.#wakeId = '0';
    for (const followed of this.#followed.values()) followed.lastId = '0';
  }

  /** Ends a blocked read, whether it has begun yet or not. One that gets lost costs the time of a block. */
  #wake(): void {
    this.#options.redis.pipeline().xadd(this.#wakeKey, 'MAXLEN', 1, '*', 'w', '').expire(this.#wakeKey, WAKE_TTL_SECONDS).exec().catch(() => undefined);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (!this.#isClosed && this.#followed.size > 0) {
      try {
        this.#deliver(await this.#read());
        if (this.#followed.size > RUNS_READ_AT_ONCE) await delay(GATHER_MS);
      } catch (error) {
        if (this.#isClosed) break;
        this.#options.onError(error);
        await delay(AFTER_FAILURE_MS);
      }
    }
    this.#isRunning = false;
  }

  async #read(): Promise<Reply> {
    const keys = [this.#wakeKey, ...this.#followed.keys()];
    const ids = [this.#wakeId, ...[...this.#followed.values()].map(({ lastId }) => lastId)];
    return (await this.#options.blocking.xread('BLOCK', BLOCK_MS, 'STREAMS', ...keys, ...ids)) as Reply;
  }

  #deliver(reply: Reply): void {
    for (const [key, entries] of reply ?? []) {
      const lastId = entries.at(-1)?.[0];
      if (lastId === undefined) continue;
      if (key === this.#wakeKey) this.#wakeId = lastId;
      const followed = this.#followed.get(key);
      if (!followed) continue;
      const isFirst = followed.lastId === '0';
      followed.lastId = lastId;
      this.#options.onFrames(followed.runId, entries.map(([, fields]) => JSON.parse(fields[1] ?? '') as LiveFrame), isFirst);
    }
  }
}
