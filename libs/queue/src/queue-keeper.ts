import type { Redis } from 'ioredis';

/** Longer than any stack is left stopped by mistake; what is forgotten too early is written anew from the database. */
const KEPT_SECONDS = 14 * 86_400;
const SCAN_COUNT = 1_000;

/**
 * Keeps the queues of this database's incarnation, and removes those of incarnations that no process has kept for two weeks: a database
 * that was recreated or restored leaves keys behind that nobody else would ever look at.
 */
export class QueueKeeper {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #keptSeconds: number;

  constructor(redis: Redis, prefix: string, keptSeconds = KEPT_SECONDS) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#keptSeconds = keptSeconds;
  }

  /** Says that these queues are in use, and removes what nobody uses. Returns the prefixes that were removed. Safe to repeat, by many. */
  async tend(): Promise<string[]> {
    await this.#redis.set(keptKey(this.#prefix), '1', 'EX', this.#keptSeconds);
    const removed: string[] = [];
    for (const prefix of await this.#otherPrefixes()) if (await this.#isForgotten(prefix)) removed.push(await this.#remove(prefix));
    return removed;
  }

  async #otherPrefixes(): Promise<Set<string>> {
    const prefixes = new Set<string>();
    for await (const keys of this.#scan('{quaestor:*}:*:meta')) for (const key of keys) prefixes.add(key.slice(0, key.indexOf('}') + 1));
    prefixes.delete(this.#prefix);
    return prefixes;
  }

  /** Queues of a stack that does not say whether it uses them get the full time from when they were first seen. */
  async #isForgotten(prefix: string): Promise<boolean> {
    if ((await this.#redis.exists(keptKey(prefix))) === 1) return false;
    const isFirstSeen = (await this.#redis.set(`${prefix}:seen`, '1', 'NX')) === 'OK';
    if (isFirstSeen) await this.#redis.set(keptKey(prefix), '1', 'EX', this.#keptSeconds, 'NX');
    return !isFirstSeen;
  }

  async #remove(prefix: string): Promise<string> {
    for await (const keys of this.#scan(`${prefix.replaceAll(/[[\]?*\\]/g, '\\$&')}:*`)) if (keys.length > 0) await this.#redis.unlink(keys);
    return prefix;
  }

  #scan(match: string): AsyncIterable<string[]> {
    return this.#redis.scanStream({ match, count: SCAN_COUNT }) as AsyncIterable<string[]>;
  }
}

const keptKey = (prefix: string): string => `${prefix}:kept`;
