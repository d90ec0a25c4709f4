import type { Redis } from 'ioredis';
import type { RunId } from '#contracts';

/** How long wake-ups are gathered: one publish per run and interval, however many commits there were. */
const GATHER_MS = 10;

/** Tells gateways that a root run has new events. Nothing depends on it: readers poll. */
export class Notifier {
  readonly #redis: Redis;
  readonly #channel: string;
  readonly #touched = new Set<RunId>();
  #timer: NodeJS.Timeout | undefined;
  #publishedAtMs = 0;

  /** Messages on `channel` are root run ids. */
  constructor(redis: Redis, channel: string) {
    this.#redis = redis;
    this.#channel = channel;
  }

  /** The first touch of a quiet while goes out at once; what follows within the interval goes out together. */
  touched(rootRunId: RunId): void {
    this.#touched.add(rootRunId);
    if (this.#timer === undefined && performance.now() - this.#publishedAtMs >= GATHER_MS) this.#publish();
    else this.#timer ??= setTimeout(() => this.#publish(), GATHER_MS);
  }

  #publish(): void {
    this.#timer = undefined;
    this.#publishedAtMs = performance.now();
    for (const rootRunId of this.#touched) this.#redis.publish(this.#channel, rootRunId).catch(() => undefined);
    this.#touched.clear();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#publish();
  }
}
