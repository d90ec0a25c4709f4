import type { Redis } from 'ioredis';
import type { RunId } from '#contracts';

/** How long wake-ups are gathered: one publish per run and interval, however many commits there were. */
const GATHER_MS = 10;

/** Tells gateways that a root run has new events. Loses nothing when it fails: readers poll as well. */
export class Notifier {
  readonly #redis: Redis;
  readonly #channel: string;
  readonly #pending = new Set<RunId>();
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis, channel: string) {
    this.#redis = redis;
    this.#channel = channel;
  }

  touched(rootRunId: RunId): void {
    this.#pending.add(rootRunId);
    this.#timer ??= setTimeout(() => this.#publish(), GATHER_MS);
  }

  #publish(): void {
    this.#timer = undefined;
    for (const rootRunId of this.#pending) this.#redis.publish(this.#channel, rootRunId).catch(() => undefined);
    this.#pending.clear();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#publish();
  }
}
