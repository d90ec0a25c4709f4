import type { EventEnvelope, RunId } from '#contracts';
import { createClient } from '#client';
import { connectRedis, eventsChannel, Notifier } from '#queue';
import { testServices } from '#testing';
import { createParser } from 'eventsource-parser';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endRun, FOREIGN_KEY, incarnationOf, KEY, startTestGateway, type TestGateway } from '../spec-support/test-gateway.ts';

let test: TestGateway;
beforeAll(async () => {
  test = await startTestGateway();
});
afterAll(() => test.stop());

const activity = (text: string) => ({ type: 'research_status', activity: text, tool: 'search', state: 'completed' });

/** A run with `count` events, the first of them `queued`. */
async function runWithEvents(count: number): Promise<RunId> {
  const runId = await test.createRun();
  if (count > 1) await test.appendEvents(runId, Array.from({ length: count - 1 }, (_, index) => activity(`step ${index + 2}`)));
  return runId;
}

interface Frame {
  id: string | undefined;
  event: EventEnvelope;
}

/** Reads an event stream to its end, or until `enough`. */
async function read(runId: RunId, options: { lastEventId?: string; query?: string }, enough: (frames: Frame[]) => boolean = () => false): Promise<Frame[]> {
  const abort = new AbortController();
  const headers: Record<string, string> = options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId };
  const response = await test.request('GET', `/v1/runs/${runId}/events${options.query ?? ''}`, { headers, signal: abort.signal });
  expect(response.status).toBe(200);
  const frames: Frame[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => void frames.push({ id, event: JSON.parse(data) as EventEnvelope }) });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
    if (enough(frames)) break;
  }
  abort.abort();
  return frames;
}

const shape = ({ id, event }: Frame): string => {
  const name = event.type === 'gap' ? `gap ${event.after}-${event.next}` : event.type === 'run_status' ? event.status : event.type;
  return `${id ?? '-'}:${name}`;
};

describe('resuming', () => {
  it.each([
    ['from the beginning', {}, ['1:queued', '2:research_status', '3:completed']],
    ['from zero', { lastEventId: '0' }, ['1:queued', '2:research_status', '3:completed']],
    ['from an old id', { lastEventId: '1' }, ['2:research_status', '3:completed']],
    ['from an old id in the query', { query: '?after=2' }, ['3:completed']],
    ['with a header that wins over the query', { lastEventId: '2', query: '?after=0' }, ['3:completed']],
    ['from the newest id', { lastEventId: '3' }, ['-:completed']],
    ['from the future', { lastEventId: '77' }, ['-:gap 77-3', '3:completed']],
  ])('[Q-19] [C03] gives exactly the rest of an ended run: %s', async (_title, options, expected) => {
    const runId = await runWithEvents(2);
    await endRun(test, runId);
    expect((await read(runId, options)).map(shape)).toEqual(expected);
  });

  it.each(['-1', '1.5', 'abc', '1e3', ' 1 2', '99999999999999999999', '1;2', 'run_x'])('[Q-19] [C03] refuses the id %j', async (lastEventId) => {
    const runId = await runWithEvents(1);
    const path = `/v1/runs/${runId}/events`;
    const responses = [
      await test.request('GET', `${path}?after=${encodeURIComponent(lastEventId)}`),
      await test.request('GET', path, { headers: { 'last-event-id': lastEventId } }),
    ];
    for (const response of responses) {
      expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([400, 'LAST_EVENT_ID_INVALID']);
    }
  });

  it('[Q-19] [C03] takes an id that names its run for that run alone', async () => {
    const [runId, other] = [await runWithEvents(2), await runWithEvents(2)];
    await endRun(test, runId);
    expect((await read(runId, { lastEventId: `${runId}:1` })).map(shape)).toEqual(['2:research_status', '3:completed']);
    const response = await test.request('GET', `/v1/runs/${runId}/events`, { headers: { 'last-event-id': `${other}:1` } });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'LAST_EVENT_ID_INVALID', message: 'Last-Event-ID names an event of another run.' } }]);
  });

  it('[Q-26] [C03] knows no run of another tenant, whatever id is given', async () => {
    const runId = await runWithEvents(1);
    for (const lastEventId of ['0', '1', '99', 'abc']) {
      const response = await test.request('GET', `/v1/runs/${runId}/events`, { key: FOREIGN_KEY, headers: { 'last-event-id': lastEventId } });
      expect(response.status).toBe(404);
    }
  });

  it('[Q-19] announces rows that are gone, instead of skipping them silently', async () => {
    const runId = await runWithEvents(5);
    await endRun(test, runId);
    await test.sql.change('DELETE FROM run_events WHERE root_run_id = ? AND seq BETWEEN 2 AND 4', [runId]);
    expect((await read(runId, {})).map(shape)).toEqual(['1:queued', '-:gap 1-5', '5:research_status', '6:completed']);
  });

  it('replays more than one page, in order', async () => {
    const runId = await runWithEvents(1_234);
    await endRun(test, runId);
    const frames = await read(runId, {});
    expect(frames.map((frame) => Number(frame.id))).toEqual(Array.from({ length: 1_235 }, (_, index) => index + 1));
  });

  it('[Q-19] gives 20 readers that are cut again and again what the log holds', async () => {
    const runId = await runWithEvents(3);
    const clients = Array.from({ length: 20 }, async (_, index) => {
      const seen: number[] = [];
      for (let after = 0, connection = 0; ; connection++) {
        const frames = await read(runId, { lastEventId: String(after) }, (all) => all.length > (index + connection) % 4);
        for (const { id } of frames) if (id !== undefined) seen.push(Number(id));
        after = seen.at(-1) ?? 0;
        if (frames.some(({ event }) => event.type === 'run_status' && event.status === 'completed')) return seen;
      }
    });
    for (let step = 0; step < 20; step++) await test.appendEvents(runId, [activity(`live ${step}`)]);
    await endRun(test, runId);
    for (const seen of await Promise.all(clients)) expect([...new Set(seen)]).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
  });
});

describe('live', () => {
  it('is woken by the channel and ends with the run', async () => {
    const runId = await runWithEvents(1);
    const redis = connectRedis(await redisUrl(), 'consumer', () => undefined);
    const reading = read(runId, {});
    await expect.poll(() => test.gateway.hub.readerCount).toBe(1);
    await endRun(test, runId);
    new Notifier(redis, eventsChannel(await incarnationOf(test))).touched(runId);
    expect((await reading).map(shape)).toEqual(['1:queued', '2:completed']);
    redis.disconnect();
  });

  it('finds new events by its poll when no wake-up arrives', async () => {
    const runId = await runWithEvents(1);
    const reading = read(runId, {});
    await expect.poll(() => test.gateway.hub.readerCount).toBe(1);
    await endRun(test, runId);
    expect((await reading).map(shape)).toEqual(['1:queued', '2:completed']);
  });

  it('[Q-20] [C06] cannot be made to forge a frame by what an event says', async () => {
    const runId = await runWithEvents(1);
    const text = 'a\r\n\r\nid: 99\ndata: {"type":"run_status"}\n\n\u2028\u0000 event: x';
    await test.appendEvents(runId, [activity(text)]);
    await endRun(test, runId);
    const frames = await read(runId, {});
    expect(frames.map(shape)).toEqual(['1:queued', '2:research_status', '3:completed']);
    expect(frames[1]?.event).toMatchObject({ activity: text, seq: 2, run_id: runId });
  });

  it('[C05] sends headers that keep proxies from holding it back', async () => {
    const runId = await runWithEvents(1);
    const abort = new AbortController();
    const response = await test.request('GET', `/v1/runs/${runId}/events`, { signal: abort.signal, headers: { 'x-request-id': 'mine' } });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': 'mine',
    });
    abort.abort();
  });

  it('[C05] speaks HTTP/1.0: no chunks, and the end of the connection is the end of the stream', async () => {
    const runId = await runWithEvents(2);
    await endRun(test, runId);
    const socket = net.connect(test.gateway.port, '127.0.0.1');
    socket.write(`GET /v1/runs/${runId}/events HTTP/1.0\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
    let text = '';
    for await (const part of socket) text += String(part);
    const [head, body] = text.split('\r\n\r\n');
    expect(head).not.toMatch(/transfer-encoding/i);
    expect(body).toMatch(/^retry: \d+\n\nid: 1\n[^]*id: 3\nevent: run_status\ndata: \{.*\}\n\n$/);
  });

  it('works with the client of this repository', async () => {
    const runId = await runWithEvents(2);
    const client = createClient({ baseUrl: test.baseUrl, apiKey: KEY });
    const seen: (number | undefined)[] = [];
    await endRun(test, runId);
    for await (const event of client.events(runId)) seen.push(event.seq);
    expect(seen).toEqual([1, 2, 3]);
    expect((await client.getRun(runId)).status).toBe('completed');
    expect((await client.listRuns({ limit: 1 })).data).toHaveLength(1);
    expect((await client.info()).docs_folder).toBeNull();
    expect((await client.cancelRun(runId)).status).toBe('completed');
  });
});

const redisUrl = async (): Promise<string> => (await testServices()).redisUrl;

describe('readers that misbehave', () => {
  it('[Q-09] [C02] counts no reader after all have left, however they left', async () => {
    const runId = await runWithEvents(3);
    const path = `/v1/runs/${runId}/events`;
    const leaving = Array.from({ length: 30 }, async (_, index) => {
      const abort = new AbortController();
      const request = test.request('GET', path, { signal: abort.signal }).catch(() => undefined);
      if (index % 3 === 0) abort.abort();
      const response = await request;
      if (index % 3 === 1) await response?.body?.cancel();
      abort.abort();
    });
    await Promise.all(leaving);
    await expect.poll(() => [test.gateway.hub.readerCount, test.gateway.hub.feedCount]).toEqual([0, 0]);
  });

  it('[Q-17] [C01] leaves a reader that does not read behind without holding others up, and bounds what waits for it', async () => {
    const runId = await runWithEvents(1);
    const stalled = net.connect(test.gateway.port, '127.0.0.1');
    stalled.on('error', () => undefined);
    stalled.pause();
    stalled.write(`GET /v1/runs/${runId}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
    await expect.poll(() => test.gateway.hub.readerCount).toBe(1);
    const big = 'x'.repeat(60_000);
    for (let batch = 0; batch < 10; batch++) await test.appendEvents(runId, Array.from({ length: 25 }, () => activity(big)));
    await endRun(test, runId);
    const frames = await read(runId, {});
    expect(frames).toHaveLength(252);
    expect(test.gateway.hub.readerCount).toBe(1);
    expect(test.gateway.hub.bufferedBytes).toBeLessThan(1024 * 1024);
    const received = await drain(stalled);
    expect(received.match(/^id: /gm)).toHaveLength(252);
    await expect.poll(() => test.gateway.hub.readerCount).toBe(0);
  });
});

/** Reads all that is left of a paused connection. */
const drain = (socket: net.Socket): Promise<string> =>
  new Promise((resolve) => {
    const parts: Buffer[] = [];
    socket.on('data', (part) => {
      parts.push(part);
      if (part.includes('"status":"completed"')) socket.destroy();
    });
    socket.on('close', () => resolve(Buffer.concat(parts).toString('utf8')));
    socket.resume();
  });
