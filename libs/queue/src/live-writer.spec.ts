import type { LiveFrame, RunId } from '#contracts';
import { LiveBaseline } from '#domain';
import { testServices } from '#testing';
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRedis } from './connection.ts';
import { LiveReader } from './live-reader.ts';
import { LiveWriter } from './live-writer.ts';
import { liveKey } from './names.ts';

const RUN = `run_${'0'.repeat(26)}` as RunId;
let redis: Redis;
let url: string;
beforeAll(async () => {
  url = (await testServices()).redisUrl;
  redis = connectRedis(url, 'consumer', () => undefined);
});
afterAll(() => redis.disconnect());

const framesOf = async (incarnation: string): Promise<LiveFrame[]> => (await redis.xrange(liveKey(incarnation, RUN), '-', '+')).map(([, fields]) => JSON.parse(fields[1] ?? '') as LiveFrame);

describe('live streams', () => {
  it('[Q-17] stay bounded, end by themselves, and give whoever comes last the whole text', async () => {
    const incarnation = randomBytes(6).toString('hex');
    const writer = new LiveWriter(redis, incarnation);
    let expected = '';
    for (let part = 0; part < 3_000; part++) {
      expected += `${part} `;
      writer.tell(RUN, { type: 'content', turn: 1, attempt: 1, content: `${part} ` });
      // each text a frame of its own
      writer.close();
    }
    await redis.ping();
    const frames = await framesOf(incarnation);
    expect(frames.length).toBeLessThan(2_500);
    const baseline = new LiveBaseline();
    for (const frame of frames) baseline.accept(frame, 0);
    expect(baseline.active?.parts).toEqual([{ type: 'content', content: expected }]);
    expect(await redis.ttl(liveKey(incarnation, RUN))).toBeGreaterThan(0);
    await redis.del(liveKey(incarnation, RUN));
  });

  it('[Q-19] begin again at once when Redis was emptied: a frame without its beginning is of no use to whoever joins', async () => {
    const incarnation = randomBytes(6).toString('hex');
    const writer = new LiveWriter(redis, incarnation);
    writer.tell(RUN, { type: 'content', turn: 1, attempt: 1, content: 'before ' });
    await expect.poll(async () => (await framesOf(incarnation)).length).toBe(2);
    await redis.del(liveKey(incarnation, RUN));
    writer.tell(RUN, { type: 'content', turn: 1, attempt: 1, content: 'after' });
    await expect.poll(() => framesOf(incarnation)).toMatchObject([{ type: 'baseline', index: 2, parts: [{ type: 'content', content: 'before after' }] }]);
    await redis.del(liveKey(incarnation, RUN));
  });

  it('of many runs reach one reader over one connection, which follows and leaves them at any time', async () => {
    const incarnation = randomBytes(6).toString('hex');
    const runs = Array.from({ length: 40 }, (_, index) => `run_${String(index).padStart(26, '0')}` as RunId);
    const texts = new Map<RunId, string>();
    const onFrames = (runId: RunId, frames: LiveFrame[]): void => {
      for (const frame of frames) if (frame.type === 'content') texts.set(runId, (texts.get(runId) ?? '') + frame.content);
    };
    const reader = new LiveReader({ blocking: connectRedis(url, 'consumer', () => undefined), redis, incarnation, onFrames, onError: () => undefined });
    const writer = new LiveWriter(redis, incarnation);
    for (const [index, runId] of runs.entries()) {
      reader.follow(runId);
      writer.tell(runId, { type: 'content', turn: 1, attempt: 1, content: `${index}` });
    }
    await expect.poll(() => runs.map((runId) => texts.get(runId))).toEqual(runs.map((_, index) => `${index}`));
    for (const runId of runs) reader.leave(runId);
    expect(reader.followedCount).toBe(0);
    reader.close();
  });
});
