import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { STOP_REASONS, type DurableEventBody, type StopReason } from '#contracts';

export const FAKE_KEY = 'qk_spec';
export const RUN_ID = 'run_0123456789abcdefghijklmnop';

export interface FakeGateway {
  url: string;
  /** Bodies of `POST /v1/runs`, and of forks. */
  created: unknown[];
  close(): void;
}

interface Scenario {
  /** Undefined: the run never ends. */
  stopReason?: StopReason;
  report?: string | null;
  events?: DurableEventBody[];
}

/** A gateway with one run, which ends as the scenario says. */
export async function startFakeGateway({ stopReason, report = null, events = [] }: Scenario): Promise<FakeGateway> {
  const created: unknown[] = [];
  let accepted = false;
  const view = () => ({
    id: RUN_ID,
    object: 'run',
    status: accepted && stopReason ? STOP_REASONS[stopReason].status : 'running',
    stop_reason: accepted && stopReason ? stopReason : null,
    limits_hit: [],
    forked_from: null,
    question: 'What is it?',
    report,
    model: 'spec',
    last_error: stopReason === 'provider_failed' ? { code: 'MODEL_UNREACHABLE', message: 'The model is away.' } : null,
    resumed_from: null,
    resumed_by: null,
    budget: { limit: 100, reserved: 0, spent: 7.5, left: 92.5, overruns: 0 },
    usage: { model_calls: 3, input_tokens: 10, output_tokens: 5, tool_calls: 4, workers: 2 },
    created_at: '2026-01-01T00:00:00.000Z',
    started_at: '2026-01-01T00:00:00.000Z',
    ended_at: stopReason ? '2026-01-01T00:00:01.500Z' : null,
    deadline_at: '2026-01-01T00:15:00.000Z',
    cancel_requested_at: null,
    elapsed_ms: 1_500,
  });
  const server = createServer(async (request, response) => {
    const path = (request.url ?? '').split('?')[0];
    if (request.headers.authorization !== `Bearer ${FAKE_KEY}`) return send(response, 401, { error: { code: 'UNAUTHORIZED', message: 'no', param: null, request_id: 'r' } });
    if (request.method === 'POST' && (path === '/v1/runs' || path === `/v1/runs/${RUN_ID}/fork`)) {
      let body = '';
      for await (const chunk of request) body += chunk;
      created.push(JSON.parse(body));
      const answer = view();
      send(response, 201, { ...answer, status: 'queued', stop_reason: null });
      return void (accepted = true);
    }
    if (path === '/v1/runs') return send(response, 200, { object: 'list', data: [view()], first_id: RUN_ID, last_id: RUN_ID, has_more: false });
    if (path === `/v1/runs/${RUN_ID}/events`) return sendEvents(response, stopReason ? [...events, { type: 'run_status', status: STOP_REASONS[stopReason].status, stop_reason: stopReason }] : events);
    if (path === `/v1/runs/${RUN_ID}/sources`) return send(response, 200, { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
    if (path === `/v1/runs/${RUN_ID}/scratchpad`) return send(response, 200, { object: 'scratchpad', body: '', revision: 0, entries: [{ sequence_no: '1', author: 'research_worker', text: 'found', created_at: '2026-01-01T00:00:00.000Z' }] });
    if (path === `/v1/runs/${RUN_ID}`) return send(response, 200, view());
    send(response, 404, { error: { code: 'NOT_FOUND', message: 'There is no such run.', param: null, request_id: 'r' } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    created,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Leaves the stream open: a client has to end by itself at the terminal event. */
function sendEvents(response: ServerResponse, events: DurableEventBody[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  events.forEach((event, index) => {
    const envelope = { ...event, run_id: RUN_ID, seq: index + 1, at: '2026-01-01T00:00:00.000Z' };
    response.write(`id: ${index + 1}\nevent: ${event.type}\ndata: ${JSON.stringify(envelope)}\n\n`);
  });
}
