import type { EventEnvelope, LiveNews, RunId } from '#contracts';
import { createClient, foldLiveView, type LiveView } from '#client';
import { connectRedis, liveKey, LiveWriter } from '#queue';
import { testServices } from '#testing';
import type { Redis } from 'ioredis';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endRun, incarnationOf, KEY, startTestGateway, type TestGateway } from '../spec-support/test-gateway.ts';

let test: TestGateway;
let redis: Redis;
let incarnation: string;
let writer: LiveWriter;
beforeAll(async () => {
  test = await startTestGateway();
  redis = connectRedis((await testServices()).redisUrl, 'consumer', () => undefined);
  incarnation = await incarnationOf(test);
  writer = new LiveWriter(redis, incarnation);
});
afterAll(async () => {
  redis.disconnect();
  await test.stop();
});

const say = (runId: RunId, content: string, attempt = 1): void => writer.tell(runId, { type: 'content', turn: 1, attempt, content });
const endAttempt = (runId: RunId, attempt = 1, outcome: 'committed' | 'abandoned' = 'committed'): void => writer.tell(runId, { type: 'end', turn: 1, attempt, outcome } satisfies LiveNews);
const settle = (runId: RunId, attempt = 1, outcome = 'completed'): Promise<void> => test.appendEvents(runId, [{ type: 'settlement', role: 'supervisor', turn: 1, attempt, outcome }]);

interface Watch {
  events: EventEnvelope[];
  view(): LiveView | null;
  done: Promise<void>;
  leave(): void;
}

/** Follows a run over `baseUrl` as the command line does. */
function watch(runId: RunId, baseUrl = test.baseUrl, after = 0): Watch {
  const events: EventEnvelope[] = [];
  const abort = new AbortController();
  let view: LiveView | null = null;
  const follow = async (): Promise<void> => {
    for await (const event of createClient({ baseUrl, apiKey: KEY }).events(runId, { signal: abort.signal, after })) {
      events.push(event);
      view = foldLiveView(view, event);
    }
  };
  return { events, view: () => view, done: follow(), leave: () => abort.abort() };
}

const seqs = ({ events }: Watch): number[] => events.flatMap((event) => event.seq ?? []);

/** A line to the gateway that can be cut. */
async function startProxy() {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(test.gateway.port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    cut: () => sockets.forEach((socket) => socket.destroy()),
    close: () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}

describe('live text', () => {
  it('[Q-19] reaches a reader from the start, one that joins later, and one that joins last', async () => {
    const runId = await test.createRun();
    const early = watch(runId);
    await expect.poll(() => early.events.length).toBe(1);
    say(runId, 'one ');
    await expect.poll(() => early.view()?.content).toBe('one ');
    const late = watch(runId);
    await expect.poll(() => late.view()?.content).toBe('one ');
    say(runId, 'two');
    await expect.poll(() => [early.view()?.content, late.view()?.content]).toEqual(['one two', 'one two']);
    await settle(runId);
    endAttempt(runId);
    await expect.poll(() => [early.view(), late.view()]).toEqual([null, null]);
    await endRun(test, runId);
    await Promise.all([early.done, late.done]);
    expect([seqs(early), seqs(late)]).toEqual([[1, 2, 3], [1, 2, 3]]);
  });

  it('[Q-05] of an attempt that died is replaced by the next one, not followed by it', async () => {
    const runId = await test.createRun();
    const reader = watch(runId);
    await expect.poll(() => reader.events.length).toBe(1);
    say(runId, 'first try');
    await expect.poll(() => reader.view()?.content).toBe('first try');
    await settle(runId, 1, 'lost');
    say(runId, 'second try', 2);
    say(runId, ' of a process that lost its lease', 1);
    say(runId, '!', 2);
    await expect.poll(() => reader.view()).toMatchObject({ attempt: 2, content: 'second try!' });
    reader.leave();
    await reader.done;
  });

  it('[Q-14] goes on, whole, after Redis was emptied in the middle, and lets facts pass when its end is lost', async () => {
    const runId = await test.createRun();
    const reader = watch(runId);
    await expect.poll(() => reader.events.length).toBe(1);
    say(runId, 'before ');
    await expect.poll(() => reader.view()?.content).toBe('before ');
    await redis.del(liveKey(incarnation, runId));
    say(runId, 'after');
    await expect.poll(() => reader.view()?.content).toBe('before after');
    await settle(runId);
    await expect.poll(() => seqs(reader), { timeout: 5_000 }).toEqual([1, 2]);
    await endRun(test, runId);
    await reader.done;
    expect([reader.view(), seqs(reader)]).toEqual([null, [1, 2, 3]]);
  });

  it('[C06] cannot forge a frame by what it says, and is the text it was', async () => {
    const runId = await test.createRun();
    const reader = watch(runId);
    await expect.poll(() => reader.events.length).toBe(1);
    const content = 'a\r\ndata: forged\n\nid: 9\nevent: run_status\u2028\u0000 \ud83d\ude00';
    say(runId, content);
    await expect.poll(() => reader.view()?.content).toBe(content);
    expect(reader.events.every((event) => event.seq === undefined || event.seq === 1)).toBe(true);
    reader.leave();
    await reader.done;
  });

  it('[C02] leaves no reader, feed or followed stream behind, whenever readers leave', async () => {
    const runId = await test.createRun();
    for (let round = 0; round < 10; round++) {
      const reader = watch(runId);
      if (round % 2 === 0) await expect.poll(() => reader.events.length).toBeGreaterThan(0);
      reader.leave();
      await reader.done;
    }
    await expect.poll(() => [test.gateway.hub.readerCount, test.gateway.hub.feedCount]).toEqual([0, 0]);
  });
});

describe('many lines that are cut', () => {
  it('[C04] show 50 readers, cut again and again, what the log holds and the text that is written', async () => {
    const runId = await test.createRun();
    const proxy = await startProxy();
    const readers = Array.from({ length: 50 }, () => watch(runId, proxy.url));
    await expect.poll(() => readers.every(({ events }) => events.length > 0), { timeout: 10_000 }).toBe(true);
    let expected = '';
    for (let round = 0; round < 4; round++) {
      for (let part = 0; part < 5; part++) {
        expected += `${round}.${part} `;
        say(runId, `${round}.${part} `);
        await test.appendEvents(runId, [{ type: 'research_status', activity: 'a', tool: 'search', state: 'completed' }]);
      }
      await expect.poll(() => readers.every((reader) => reader.view()?.content === expected), { timeout: 20_000 }).toBe(true);
      proxy.cut();
    }
    await settle(runId);
    endAttempt(runId);
    await endRun(test, runId);
    await Promise.all(readers.map(({ done }) => done));
    for (const reader of readers) expect([reader.view(), seqs(reader)]).toEqual([null, Array.from({ length: 23 }, (_, index) => index + 1)]);
    proxy.close();
    await expect.poll(() => test.gateway.hub.readerCount).toBe(0);
  }, 90_000);
});
