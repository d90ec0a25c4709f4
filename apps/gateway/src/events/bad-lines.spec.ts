import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http, { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createGzip } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { ApiKeyId, RunId } from '#contracts';
import { createClient } from '#client';
import type { StoredEvent } from '#database';
import { EventHub, type EventHubOptions } from './event-hub.ts';
import { SseWriter, type SseWriterOptions } from './sse-writer.ts';

const RUN = `run_${'0'.repeat(26)}` as RunId;
const KEY = `key_${'0'.repeat(26)}` as ApiKeyId;
const event = (seq: number, body: { type: StoredEvent['type'] } & Record<string, unknown>): StoredEvent => ({ seq, type: body.type, body: JSON.stringify(body), at: new Date(0) });
const FIRST = event(1, { type: 'run_status', status: 'queued' });
const LAST = event(2, { type: 'run_status', status: 'completed' });

let log: StoredEvent[];
let hub: EventHub;
const servers: (Server | net.Server)[] = [];
afterEach(() => {
  hub.close('');
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  }
});

async function listening(server: Server | net.Server, address: string | number = 0): Promise<string> {
  servers.push(server);
  server.listen(typeof address === 'string' ? { path: address } : { port: address, host: '127.0.0.1' });
  await once(server, 'listening');
  return typeof address === 'string' ? address : `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A gateway with one run, and nothing else. */
async function serve(options: Partial<EventHubOptions> = {}, writerOptions: SseWriterOptions = {}, address: string | number = 0): Promise<string> {
  log = [FIRST];
  const events = { readAfter: async (_runId: RunId, after: number) => log.filter(({ seq }) => seq > after), newestSeqs: async () => new Map([[RUN, log.length]]) };
  hub = new EventHub({ events, findRevoked: async () => [], ...options });
  const follow = (request: IncomingMessage, response: ServerResponse): void => {
    const writer = new SseWriter(response, writerOptions);
    writer.open({}, 'retry: 10\n\n');
    hub.add(RUN, { writer, apiKeyId: KEY, isLive: false, after: Number(request.headers['last-event-id'] ?? 0) });
  };
  return listening(createServer(follow), address);
}

describe('[C05] a stream through proxies', () => {
  it('is kept open by its heartbeats where silence would cut it', async () => {
    const target = new URL(await serve({ heartbeatMs: 20 }));
    const IDLE_MS = 400;
    const proxied = net.createServer((near) => {
      const far = net.connect(Number(target.port), target.hostname);
      far.setTimeout(IDLE_MS, () => far.destroy());
      near.on('error', () => far.destroy());
      far.on('error', () => near.destroy());
      near.pipe(far).pipe(near);
    });
    const response = await fetch(await listening(proxied));
    let text = '';
    for await (const part of response.body ?? []) {
      text += Buffer.from(part as Uint8Array).toString();
      // longer than the proxy would have waited
      if ((text.match(/: hb/g)?.length ?? 0) < (IDLE_MS / 20) * 2 || log.length === 2) continue;
      log.push(LAST);
      hub.wake(RUN);
    }
    expect(text.match(/^id: \d$/gm)).toEqual(['id: 1', 'id: 2']);
  });

  /** Compresses and holds back what its origin does not forbid; a stubborn one does so anyway, to the end of the answer. */
  const transforming = (target: string, isStubborn: boolean): Server =>
    createServer((request, response) => {
      const asked = http.get(target, { headers: { 'last-event-id': request.headers['last-event-id'] ?? '0' }, agent: false }, (answer) => {
        const mayTransform = isStubborn || !answer.headers['cache-control']?.includes('no-transform');
        const mayHold = isStubborn || answer.headers['x-accel-buffering'] !== 'no';
        response.writeHead(200, { ...answer.headers, ...(mayTransform ? { 'content-encoding': 'gzip' } : {}) });
        const outgoing = mayTransform ? createGzip() : response;
        if (mayTransform) outgoing.pipe(response);
        const held: Buffer[] = [];
        answer.on('data', (part: Buffer) => (mayHold ? held.push(part) : outgoing.write(part)));
        answer.on('end', () => outgoing.end(Buffer.concat(held)));
      });
      asked.on('error', () => response.destroy());
    });

  it('is neither compressed nor held back by one that heeds what it is told', async () => {
    const response = await fetch(await listening(transforming(await serve(), false)));
    expect(response.headers.get('content-encoding')).toBeNull();
    let text = '';
    for await (const part of response.body ?? []) {
      text += Buffer.from(part as Uint8Array).toString();
      if (!text.includes('id: 1') || log.length === 2) continue;
      // the first came through while the stream is open
      log.push(LAST);
      hub.wake(RUN);
    }
    expect(text).toContain('id: 2');
  });

  it('is late and whole, each event once, through one that compresses and holds back all the same', async () => {
    const url = await listening(transforming(await serve(), true));
    const seen: (number | undefined)[] = [];
    const reading = (async () => {
      for await (const { seq } of createClient({ baseUrl: url, apiKey: 'k' }).events(RUN)) seen.push(seq);
    })();
    await expect.poll(() => hub.readerCount).toBe(1);
    log.push(LAST);
    hub.wake(RUN);
    await reading;
    expect(seen).toEqual([1, 2]);
  });
});

describe('[Q-17] [C01] 1,000 readers that never read', () => {
  it('cost a bounded amount of memory, hold up nobody, and are dropped with a reset', async () => {
    const READERS = 1_000;
    const EVENT_BYTES = 60_000;
    const BUFFER_BYTES_MAX = 128 * 1024;
    // a socket of this kind holds little in the kernel, so that what waits must wait here
    const address = await serve({}, { stallTimeoutMs: 1_500, bufferBytesMax: BUFFER_BYTES_MAX }, path.join(tmpdir(), `quaestor-${randomBytes(6).toString('hex')}.sock`));
    const sockets: net.Socket[] = [];
    while (sockets.length < READERS) {
      const socket = net.connect(address).pause();
      await once(socket, 'connect');
      socket.on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      sockets.push(socket);
    }
    await expect.poll(() => hub.readerCount, { timeout: 20_000 }).toBe(READERS);
    const residentBefore = process.memoryUsage.rss();
    for (let seq = 2; seq <= 60; seq++) log.push(event(seq, { type: 'research_status', activity: 'x'.repeat(EVENT_BYTES) }));
    hub.wake(RUN);
    const received = await new Promise<number>((resolve) => {
      let bytes = 0;
      const reader = http.get({ socketPath: address, agent: false }, (response) => response.on('data', (part: Buffer) => (bytes += part.length) > 59 * EVENT_BYTES && (reader.destroy(), resolve(bytes))));
    });
    expect(received).toBeGreaterThan(59 * EVENT_BYTES);
    expect(hub.bufferedBytes).toBeGreaterThan(READERS * 1_000);
    expect(hub.bufferedBytes).toBeLessThan(READERS * (BUFFER_BYTES_MAX + EVENT_BYTES * 2));
    // of 3.5 GB that were offered; readers share the bytes of an event
    expect(process.memoryUsage.rss() - residentBefore).toBeLessThan(256 * 1024 * 1024);
    await expect.poll(() => [hub.readerCount, hub.feedCount, hub.bufferedBytes], { timeout: 20_000 }).toEqual([0, 0, 0]);
    for (const socket of sockets) socket.destroy();
  }, 60_000);
});
