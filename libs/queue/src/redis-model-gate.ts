import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { QuaestorError } from '#contracts';
import type { ModelGate } from '#domain';

/** A place whose holder died is free again after this time. */
const PLACE_TTL_MS = 15_000;
const POLL_MIN_MS = 20;
const POLL_MAX_MS = 250;
/** Waiters come back spread over so much of a pause, after its end. */
const PAUSE_SPREAD = 0.1;

/** Takes a place. Returns 1 and nothing, or 0 and the milliseconds that are left of a pause. The clock is Redis's own. */
const ENTER = `
local pause = redis.call('PTTL', KEYS[2])
if pause > 0 then return {0, pause} end
local limit = tonumber(ARGV[2])
if limit == 0 then return {1, 0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= limit then return {0, 0} end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3] * 2)
return {1, 0}`;

/** Keeps places that are still held; one that was lost to others is not taken back. */
const KEEP = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for position = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[position]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[1] * 2)`;

const PAUSE = `
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
return 1`;

export interface RedisModelGateOptions {
  redis: Redis;
  /** Calls that may be open at once with one key; 0 is no bound. */
  limit: number;
  random: () => number;
  /** Redis could not be asked. */
  onError: (error: unknown) => void;
  placeTtlMs?: number;
}

/**
 * The gate over Redis. A place is a lease: kept as long as its holder lives, free `placeTtlMs` after it died. While Redis is away calls begin
 * unasked: the endpoint guards itself, and a run must not end for a courtesy.
 */
export class RedisModelGate implements ModelGate {
  readonly #options: Required<RedisModelGateOptions>;
  readonly #held = new Map<string, Set<string>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: RedisModelGateOptions) {
    this.#options = { placeTtlMs: PLACE_TTL_MS, ...options };
    this.#timer = setInterval(() => this.#keep(), this.#options.placeTtlMs / 3);
    this.#timer.unref();
  }

  async enter(key: string, waitMs: number, signal: AbortSignal): Promise<() => void> {
    const endMs = performance.now() + waitMs;
    const place = randomUUID();
    for (let tries = 0; ; tries++) {
      throwIfAborted(signal);
      const { entered, pauseMs } = await this.#tryEnter(key, place);
      if (entered) return this.#hold(key, place);
      const leftMs = endMs - performance.now();
      const delayMs = pauseMs > 0 ? pauseMs * (1 + this.#options.random() * PAUSE_SPREAD) : Math.min(POLL_MAX_MS, POLL_MIN_MS * 2 ** Math.min(tries, 8)) * (0.5 + this.#options.random() / 2);
      if (delayMs >= leftMs) throw refused(pauseMs);
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async pause(key: string, pauseMs: number): Promise<void> {
    if (pauseMs < 1) return;
    await this.#ask(() => this.#options.redis.eval(PAUSE, 1, pauseKey(key), Math.ceil(pauseMs)), 1);
  }

  /** Gives all places back. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const [key, places] of this.#held) if (places.size > 0) await this.#ask(() => this.#options.redis.zrem(placesKey(key), ...places), 0);
    this.#held.clear();
  }

  async #tryEnter(key: string, place: string): Promise<{ entered: boolean; pauseMs: number }> {
    const { redis, limit, placeTtlMs } = this.#options;
    const [entered, pauseMs] = (await this.#ask(() => redis.eval(ENTER, 2, placesKey(key), pauseKey(key), place, limit, placeTtlMs), [1, 0])) as [number, number];
    return { entered: entered === 1, pauseMs };
  }

  #hold(key: string, place: string): () => void {
    if (this.#options.limit === 0) return () => undefined;
    const places = this.#held.get(key) ?? new Set();
    this.#held.set(key, places.add(place));
    return () => {
      if (places.delete(place)) void this.#ask(() => this.#options.redis.zrem(placesKey(key), place), 0);
    };
  }

  #keep(): void {
    for (const [key, places] of this.#held) {
      if (places.size > 0) void this.#ask(() => this.#options.redis.eval(KEEP, 1, placesKey(key), this.#options.placeTtlMs, ...places), 0);
    }
  }

  async #ask(question: () => Promise<unknown>, otherwise: unknown): Promise<unknown> {
    try {
      return await question();
    } catch (error) {
      this.#options.onError(error);
      return otherwise;
    }
  }
}

const placesKey = (key: string): string => `quaestor:gate:{${key}}:places`;
const pauseKey = (key: string): string => `quaestor:gate:{${key}}:pause`;

function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  const reason: unknown = signal.reason;
  if (reason instanceof QuaestorError) throw reason;
  throw refused(0);
}

function refused(pauseMs: number): QuaestorError {
  const why = pauseMs > 0 ? `The model server wants no call for another ${Math.ceil(pauseMs / 1000)} s` : 'As many calls are open as MODEL_CONCURRENCY_MAX allows, and none ended in time';
  return new QuaestorError('MODEL_RATE_LIMITED', `${why}; the call was not begun.`, { ...(pauseMs > 0 && { retryAfterMs: pauseMs }), details: { accepted: false } });
}
