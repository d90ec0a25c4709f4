import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { QuaestorError } from '#contracts';
import { testServices, waitUntil } from '#testing';
import { connectRedis } from './connection.ts';
import { RedisModelGate } from './redis-model-gate.ts';

const NEVER = new AbortController().signal;
const LONG_MS = 30_000;

let redisUrl: string;
const connections: Redis[] = [];
let keys = 0;
const newKey = (): string => `spec-${process.pid}-${++keys}`;

beforeAll(async () => {
  ({ redisUrl } = await testServices());
});
afterAll(() => connections.forEach((redis) => redis.disconnect()));

/** A gate as another process would have it: with a connection of its own. */
async function openGate(limit: number, placeTtlMs = 5_000): Promise<{ gate: RedisModelGate; redis: Redis }> {
  const redis = connectRedis(redisUrl, 'consumer', () => undefined);
  connections.push(redis);
  await redis.ping();
  const gate = new RedisModelGate({ redis, limit, random: () => 0.5, onError: () => undefined, placeTtlMs });
  onTestFinished(() => gate.close());
  return { gate, redis };
}

describe('places', () => {
  it('[Q-17] are never more than the bound, over all processes of one key', async () => {
    const gates = await Promise.all([openGate(3), openGate(3), openGate(3)]);
    const key = newKey();
    let open = 0;
    let peak = 0;
    await Promise.all(
      Array.from({ length: 60 }, async (_, position) => {
        const leave = await gates[position % 3]!.gate.enter(key, LONG_MS, NEVER);
        peak = Math.max(peak, ++open);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
        leave();
      }),
    );
    expect(peak).toBe(3);
  });

  it('of other keys do not count', async () => {
    const { gate } = await openGate(1);
    await gate.enter(newKey(), LONG_MS, NEVER);
    await gate.enter(newKey(), LONG_MS, NEVER);
  });

  it('of a holder that died are free again, those of one that lives are kept', async () => {
    const dying = await openGate(1, 300);
    const key = newKey();
    await dying.gate.enter(key, LONG_MS, NEVER);
    dying.redis.disconnect();
    const next = await openGate(1, 300);
    await next.gate.enter(key, LONG_MS, NEVER);
    const { gate: third, redis } = await openGate(1, 300);
    const kept = async (): Promise<number> => Number((await redis.zrange(`quaestor:gate:{${key}}:places`, '0', '-1', 'WITHSCORES')).at(-1));
    const first = await kept();
    await waitUntil(async () => (await kept()) > first, { what: 'the place to be kept' });
    await expect(third.enter(key, 50, NEVER)).rejects.toMatchObject({ code: 'MODEL_RATE_LIMITED', details: { accepted: false } });
  });

  it('[Q-18] are not waited for after an abort', async () => {
    const { gate } = await openGate(1);
    const key = newKey();
    await gate.enter(key, LONG_MS, NEVER);
    const controller = new AbortController();
    const waiting = gate.enter(key, LONG_MS, controller.signal);
    const reason = new QuaestorError('RUN_CANCELLED', 'Cancelled.');
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

describe('a pause', () => {
  it('[B34] holds for every process, and nobody comes back before its end', async () => {
    const [one, other] = await Promise.all([openGate(0), openGate(0)]);
    const key = newKey();
    await one.gate.pause(key, 300);
    await one.gate.pause(key, 10);
    await Promise.all([one, other].map(({ gate }) => gate.enter(key, LONG_MS, NEVER)));
    expect(await one.redis.pttl(`quaestor:gate:{${key}}:pause`)).toBe(-2);
  });

  it('[B34] that lasts beyond the deadline ends the wait at once', async () => {
    const { gate } = await openGate(0);
    const key = newKey();
    await gate.pause(key, 600_000);
    await expect(gate.enter(key, 60_000, NEVER)).rejects.toMatchObject({ code: 'MODEL_RATE_LIMITED', details: { accepted: false }, retryAfterMs: expect.any(Number) as number });
  });
});

it('lets calls begin while Redis is away', async () => {
  const { gate, redis } = await openGate(1);
  redis.disconnect();
  const key = newKey();
  await Promise.all([gate.enter(key, 1_000, NEVER), gate.enter(key, 1_000, NEVER)]);
});
