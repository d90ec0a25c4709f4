import { isTerminal, QuaestorError, type EventEnvelope, type RunId } from '#contracts';
import { createParser } from 'eventsource-parser';
import { backoffMs, pause } from './backoff.ts';
import { LiveFolder } from './live-folder.ts';
import type { Transport } from './transport.ts';

export interface EventsOptions {
  /** The last `seq` that was seen; default 0: from the beginning. */
  after?: number;
  /** Ends the iteration without an error. */
  signal?: AbortSignal;
  /** Told before each wait for a service that cannot be reached. */
  onReconnect?: (failures: number, error: QuaestorError) => void;
  /** Milliseconds without any connection after which `SERVICE_UNAVAILABLE` is thrown. Default 300,000. */
  giveUpAfterMs?: number;
}

const GIVE_UP_AFTER_MS = 300_000;
const RECONNECT_MS = 1_000;
/** Three heartbeats: a connection that is silent for longer is dead, whatever the socket says. */
const IDLE_TIMEOUT_MS = 30_000;

/** What the reader knows across connections. */
interface Position {
  folder: LiveFolder;
  /** Waiting time the service asked for. */
  retryMs: number;
  ended: boolean;
  /** Connections in a row that brought nothing. */
  failures: number;
  lastHeardMs: number;
}

/**
 * Events of a root run: each durable one exactly once and in order, across any number of connections. What the service cannot replay is
 * announced by a `gap` event. Live text of a model call (`attempt`, then `content` and `reasoning`) is whole and never doubled: after a loss,
 * `attempt` brings it anew. Ends after the terminal `run_status`, or when the signal aborts.
 * @throws QuaestorError what the service refuses (`UNAUTHORIZED`, `NOT_FOUND`, `LAST_EVENT_ID_INVALID`), or `SERVICE_UNAVAILABLE`.
 */
export async function* followEvents(transport: Transport, runId: RunId, options: EventsOptions): AsyncGenerator<EventEnvelope, void, undefined> {
  const position: Position = { folder: new LiveFolder(options.after ?? 0), retryMs: RECONNECT_MS, ended: false, failures: 0, lastHeardMs: Date.now() };
  while (!options.signal?.aborted) {
    let problem = transport.unreachable();
    yield* position.folder.reconnected();
    try {
      yield* oneConnection(transport, runId, position, options.signal);
    } catch (error) {
      if (options.signal?.aborted) return;
      if (!(error instanceof QuaestorError) || !error.retryable) throw error;
      problem = error;
    }
    if (position.ended || options.signal?.aborted) return;
    await waitToReconnect(position, problem, options);
  }
}

async function waitToReconnect(position: Position, problem: QuaestorError, options: EventsOptions): Promise<void> {
  if (Date.now() - position.lastHeardMs > (options.giveUpAfterMs ?? GIVE_UP_AFTER_MS)) throw problem;
  options.onReconnect?.(position.failures + 1, problem);
  const jitteredMs = backoffMs(position.retryMs, position.failures, Math.random());
  position.failures += 1;
  await pause(Math.max(problem.retryAfterMs ?? 0, jitteredMs), options.signal);
}

async function* oneConnection(transport: Transport, runId: RunId, position: Position, signal: AbortSignal | undefined): AsyncGenerator<EventEnvelope> {
  const idle = new AbortController();
  const bothSignals = signal ? AbortSignal.any([signal, idle.signal]) : idle.signal;
  let timer = setTimeout(() => idle.abort(), IDLE_TIMEOUT_MS);
  try {
    const response = await transport.send(eventsRequest(runId, position.folder.after), bothSignals);
    for await (const chunk of chunksOf(response, transport)) {
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(), IDLE_TIMEOUT_MS);
      position.lastHeardMs = Date.now();
      for (const event of chunk.events) {
        yield* admit(event, position);
        if (position.ended || position.folder.needsWhole) return;
      }
      if (chunk.retryMs !== undefined) position.retryMs = chunk.retryMs;
    }
  } finally {
    clearTimeout(timer);
    // leaving early (break, terminal event) must not leave the connection open
    idle.abort();
  }
}

const eventsRequest = (runId: RunId, after: number) => ({
  method: 'GET' as const,
  path: `/v1/runs/${encodeURIComponent(runId)}/events`,
  headers: { accept: 'text/event-stream', ...(after === 0 ? {} : { 'last-event-id': String(after) }) },
});

interface ParsedChunk {
  events: EventEnvelope[];
  retryMs: number | undefined;
}

async function* chunksOf(response: Response, transport: Transport): AsyncGenerator<ParsedChunk> {
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) throw transport.foreign();
  let parsed: ParsedChunk = { events: [], retryMs: undefined };
  const parser = createParser({
    onEvent: (message) => void parsed.events.push(envelopeOf(message.data, transport)),
    onRetry: (retryMs) => {
      parsed.retryMs = retryMs;
    },
  });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const part = await reader.read().catch((cause: unknown) => {
      throw transport.unreachable(cause);
    });
    if (part.done) return;
    parser.feed(decoder.decode(part.value, { stream: true }));
    yield parsed;
    parsed = { events: [], retryMs: undefined };
  }
}

function envelopeOf(data: string, transport: Transport): EventEnvelope {
  try {
    return JSON.parse(data) as EventEnvelope;
  } catch (cause) {
    throw transport.foreign(cause);
  }
}

/** Passes on what is to be shown, and notes what it says about the connection and the run. */
function* admit(event: EventEnvelope, position: Position): Generator<EventEnvelope> {
  position.failures = 0;
  for (const shown of position.folder.accept(event)) {
    position.ended = shown.type === 'run_status' && isTerminal(shown.status);
    yield shown;
    if (position.ended) return;
  }
}
