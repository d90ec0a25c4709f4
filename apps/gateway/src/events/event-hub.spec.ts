import type { ApiKeyId, LiveFrame, RunId } from '#contracts';
import type { StoredEvent } from '#database';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { EventHub, type EventHubOptions } from './event-hub.ts';
import { SseWriter } from './sse-writer.ts';

const RUN = `run_${'0'.repeat(26)}` as RunId;
const KEY = `key_${'0'.repeat(26)}` as ApiKeyId;
const EVENTS: StoredEvent[] = [{ seq: 1, type: 'run_status', body: '{"type":"run_status","status":"queued"}', at: new Date(0) }];

let server: Server;
let hub: EventHub;

async function serve(options: Partial<EventHubOptions>, handle: (response: ServerResponse) => void): Promise<string> {
  const readAfter = async (_runId: RunId, after: number) => EVENTS.filter((event) => event.seq > after);
  hub = new EventHub({ events: { readAfter, newestSeqs: async () => new Map([[RUN, EVENTS.length]]) }, findRevoked: async () => [], ...options });
  server = createServer((_request, response) => handle(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function follow(response: ServerResponse): void {
  const writer = new SseWriter(response);
  writer.open({}, 'retry: 2000\n\n');
  hub.add(RUN, { writer, apiKeyId: KEY, isLive: false, after: 0 });
}

afterEach(() => {
  hub.close('');
  server.closeAllConnections();
  server.close();
});

describe('the hub', () => {
  it('[Q-09] takes in no reader that left while it was being checked', async () => {
    const added = Promise.withResolvers<void>();
    const url = await serve({}, (response) => {
      void once(response, 'close').then(() => {
        follow(response);
        added.resolve();
      });
    });
    const abort = new AbortController();
    const request = fetch(url, { signal: abort.signal }).catch(() => undefined);
    await once(server, 'request');
    abort.abort();
    await request;
    await added.promise;
    expect([hub.readerCount, hub.feedCount]).toEqual([0, 0]);
  });

  it('[Q-26] ends the streams of a key that was revoked', async () => {
    let revoked: ApiKeyId[] = [];
    const url = await serve({ findRevoked: async () => revoked, revocationCheckMs: 20 }, follow);
    const response = await fetch(url);
    await expect.poll(() => hub.readerCount).toBe(1);
    revoked = [KEY];
    expect(await response.text()).toMatch(/^retry: 2000\n\nid: 1\n/);
    await expect.poll(() => hub.readerCount).toBe(0);
  });

  it('[C05] sends heartbeats to silent streams', async () => {
    const url = await serve({ heartbeatMs: 20 }, follow);
    const abort = new AbortController();
    const response = await fetch(url, { signal: abort.signal });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes(': hb\n\n: hb\n\n')) break;
    }
    abort.abort();
    expect(text).toContain(': hb\n\n: hb\n\n');
  });

  it.each([['its end follows', true], ['its end was lost', false]])('[Q-19] lets the last words of a run go before its end: %s', async (_title, hasEnd) => {
    const log = [...EVENTS];
    const url = await serve({ events: { readAfter: async (_runId, after) => log.filter(({ seq }) => seq > after), newestSeqs: async () => new Map() } }, follow);
    const response = await fetch(url);
    await expect.poll(() => hub.readerCount).toBe(1);
    const frame = (of: object): LiveFrame => ({ turn: 1, attempt: 1, revision: 1, index: 0, ...of }) as LiveFrame;
    hub.takeLive(RUN, [frame({ type: 'baseline', parts: [] })], true);
    log.push({ seq: 2, type: 'settlement', body: '{"type":"settlement","role":"supervisor","turn":1,"attempt":1}', at: new Date(0) });
    log.push({ seq: 3, type: 'run_status', body: '{"type":"run_status","status":"completed"}', at: new Date(0) });
    hub.wake(RUN);
    let text = '';
    for await (const chunk of response.body ?? []) {
      const isNew = !text.includes('id: 2\n');
      text += Buffer.from(chunk as Uint8Array).toString();
      if (!isNew || !text.includes('id: 2\n')) continue;
      hub.takeLive(RUN, [frame({ type: 'content', content: 'last words' })], false);
      if (hasEnd) hub.takeLive(RUN, [frame({ type: 'end', index: 1, outcome: 'committed' })], false);
    }
    expect(text.match(/last words|attempt_end\n|id: \d/g)).toEqual(['id: 1', 'id: 2', 'last words', 'attempt_end\n', 'id: 3']);
  });

  it('tries a failed read again with its poll', async () => {
    let failures = 0;
    const readAfter = async (_runId: RunId, after: number): Promise<StoredEvent[]> => {
      if (failures++ < 2) throw new Error('the database is away');
      return EVENTS.filter((event) => event.seq > after);
    };
    const problems: unknown[] = [];
    const url = await serve(
      { events: { readAfter, newestSeqs: async () => new Map([[RUN, 1]]) }, pollMs: 20, onProblem: (error) => problems.push(error) },
      follow,
    );
    const response = await fetch(url);
    await expect.poll(() => failures).toBe(3);
    hub.close('');
    expect(await response.text()).toContain('id: 1\n');
    expect(problems).toHaveLength(2);
  });
});
