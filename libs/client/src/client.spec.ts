import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { QuaestorError, type EventEnvelope, type RunId } from '#contracts';
import { createClient } from './client.ts';

const RUN = `run_${'0'.repeat(26)}` as RunId;
const AT = '2026-01-01T00:00:00.000Z';
const status = (seq: number, value: string): string =>
  `id: ${seq}\nevent: run_status\ndata: ${JSON.stringify({ type: 'run_status', run_id: RUN, seq, at: AT, status: value })}\n\n`;

let server: Server;
type Handler = (request: IncomingMessage, response: ServerResponse, turn: number) => void;

async function serve(handler: Handler) {
  let turn = 0;
  server = createServer((request, response) => handler(request, response, turn++));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return createClient({ baseUrl, apiKey: 'qk_test', retriesMax: 2 });
}

const stream = (response: ServerResponse): ServerResponse => response.writeHead(200, { 'content-type': 'text/event-stream' });

async function collect(events: AsyncIterable<EventEnvelope>): Promise<EventEnvelope[]> {
  const all: EventEnvelope[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const refused = async (work: Promise<unknown>): Promise<QuaestorError> => {
  const error = await work.then(() => undefined, (reason: unknown) => reason);
  expect(error).toBeInstanceOf(QuaestorError);
  return error as QuaestorError;
};

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

describe('requests', () => {
  it('sends one idempotency key over all retries of a call', async () => {
    const keys: unknown[] = [];
    const client = await serve((request, response) => {
      keys.push(request.headers['idempotency-key']);
      response.destroy();
    });
    expect((await refused(client.createRun({ question: 'q' }))).code).toBe('SERVICE_UNAVAILABLE');
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it('keeps the code of the gateway and does not repeat a refusal', async () => {
    let calls = 0;
    const client = await serve((_request, response) => {
      calls += 1;
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 'NOT_FOUND', message: 'No such run.', param: null, request_id: 'r1' } }));
    });
    const error = await refused(client.getRun(RUN));
    expect([error.code, error.message, error.details['requestId'], calls]).toEqual(['NOT_FOUND', 'No such run.', 'r1', 1]);
  });

  it('says so when something else answers on that address', async () => {
    const client = await serve((_request, response) => response.end('<html></html>'));
    expect((await refused(client.getRun(RUN))).message).toContain('did not answer like a Quaestor gateway');
    expect((await refused(collect(client.events(RUN)))).message).toContain('did not answer like a Quaestor gateway');
  });
});

describe('events', () => {
  it('[Q-19] delivers each seq once over cut connections and resumes from the last one', async () => {
    const resumedFrom: unknown[] = [];
    const client = await serve((request, response, turn) => {
      resumedFrom.push(request.headers['last-event-id']);
      stream(response).write('retry: 1\n\n');
      if (turn === 0) response.write(status(1, 'queued') + status(2, 'running'), () => response.destroy());
      else response.end(status(2, 'running') + status(3, 'completed') + status(4, 'running'));
    });
    const events = await collect(client.events(RUN));
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3]);
    expect(resumedFrom).toEqual([undefined, '2']);
  });

  it('passes gaps on, and announces those that nobody announced', async () => {
    const gap = `event: gap\ndata: ${JSON.stringify({ type: 'gap', run_id: RUN, at: AT, after: 9, next: 3 })}\n\n`;
    const client = await serve((_request, response) => stream(response).end(gap + status(3, 'running') + status(5, 'completed')));
    const events = await collect(client.events(RUN, { after: 9 }));
    expect(events.map((event) => (event.type === 'gap' ? `gap ${event.after}-${event.next}` : event.seq))).toEqual(['gap 9-3', 3, 'gap 3-5', 5]);
  });

  it('ends after a terminal status without a number', async () => {
    const client = await serve((_request, response) => {
      stream(response).write(`data: ${JSON.stringify({ type: 'run_status', run_id: RUN, at: AT, status: 'cancelled' })}\n\n`);
    });
    expect(await collect(client.events(RUN, { after: 4 }))).toHaveLength(1);
  });

  it('closes its connection when the reader leaves, and ends quietly on abort', async () => {
    let open = 0;
    const client = await serve((_request, response) => {
      open += 1;
      response.on('close', () => (open -= 1));
      stream(response).write(status(1, 'queued'));
    });
    for await (const event of client.events(RUN)) {
      expect(event.seq).toBe(1);
      break;
    }
    await expect.poll(() => open).toBe(0);
    const abort = new AbortController();
    for await (const event of client.events(RUN, { signal: abort.signal })) {
      expect(event.seq).toBe(1);
      abort.abort();
    }
    await expect.poll(() => open).toBe(0);
  });

  it('gives up after the given time without a service', async () => {
    const client = await serve((_request, response) => response.destroy());
    const error = await refused(collect(client.events(RUN, { giveUpAfterMs: 0 })));
    expect(error.code).toBe('SERVICE_UNAVAILABLE');
  });
});
