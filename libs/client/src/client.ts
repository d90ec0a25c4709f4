import {
  CheckpointView,
  EstimateView,
  InfoView,
  ListView,
  MessageView,
  RunView,
  ScratchpadView,
  SourceView,
  SpendView,
  type CreateRunRequest,
  type EstimateRequest,
  type EventEnvelope,
  type ForkRunRequest,
  type ResumeRunRequest,
  type List,
  type RunId,
  type RunStatus,
} from '#contracts';
import { followEvents, type EventsOptions } from './event-stream.ts';
import { Transport, type ApiRequest, type ClientOptions } from './transport.ts';

export interface ListRunsOptions {
  /** Runs of one page, 1 to 100. Default 20. */
  limit?: number;
  /** The `last_id` of the page before. */
  after?: string;
  status?: RunStatus;
}

/**
 * The API of one gateway. Methods throw `QuaestorError` with the gateway's own code, or `SERVICE_UNAVAILABLE` when it cannot be reached
 * after bounded retries. All of them are safe to repeat.
 */
export interface Client {
  /** Accepts a question. Without `idempotencyKey` a fresh one is used, so that a retry of this call never starts a second run. */
  createRun(body: CreateRunRequest, options?: { idempotencyKey?: string }): Promise<RunView>;
  getRun(id: RunId): Promise<RunView>;
  /** Newest first. */
  listRuns(options?: ListRunsOptions): Promise<List<RunView>>;
  /** Asks for the end of a run and returns its present state; a run that has ended is left as it is. */
  cancelRun(id: RunId): Promise<RunView>;
  /** The run that continues a stopped one with more credits or time; a repeat names the same one. */
  resumeRun(id: RunId, body: ResumeRunRequest): Promise<RunView>;
  /** Where a run stands, at any time. */
  checkpoint(id: RunId): Promise<CheckpointView>;
  /** Starts a new run that goes on from a turn of another. Without `idempotencyKey` a fresh one is used, as for `createRun`. */
  forkRun(id: RunId, body: ForkRunRequest, options?: { idempotencyKey?: string }): Promise<RunView>;
  sources(id: RunId): Promise<List<SourceView>>;
  scratchpad(id: RunId): Promise<ScratchpadView>;
  messages(id: RunId): Promise<List<MessageView>>;
  /** What a run would use; spends and writes nothing. */
  estimate(body: EstimateRequest): Promise<EstimateView>;
  /** What this key's tenant has spent, and what is left of its quota. */
  spend(): Promise<SpendView>;
  info(): Promise<InfoView>;
  /** See `followEvents`: each durable event once, over any number of connections, until the run has ended. */
  events(id: RunId, options?: EventsOptions): AsyncIterable<EventEnvelope>;
}

const RunList = ListView(RunView);
const SourceList = ListView(SourceView);
const MessageList = ListView(MessageView);

/** A client for Node and browsers; it opens no connection before the first call. */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const ofRun = (id: RunId, part = ''): ApiRequest => ({ method: 'GET', path: `/v1/runs/${encodeURIComponent(id)}${part}` });
  return {
    createRun: (body, { idempotencyKey = randomKey() } = {}) =>
      transport.json({ method: 'POST', path: '/v1/runs', body, headers: { 'idempotency-key': idempotencyKey } }, RunView),
    getRun: (id) => transport.json(ofRun(id), RunView),
    listRuns: (query = {}) => transport.json({ method: 'GET', path: `/v1/runs${queryString({ ...query })}` }, RunList),
    cancelRun: (id) => transport.json({ ...ofRun(id, '/cancel'), method: 'POST' }, RunView),
    resumeRun: (id, body) => transport.json({ ...ofRun(id, '/resume'), method: 'POST', body }, RunView),
    checkpoint: (id) => transport.json(ofRun(id, '/checkpoint'), CheckpointView),
    forkRun: (id, body, { idempotencyKey = randomKey() } = {}) =>
      transport.json({ ...ofRun(id, '/fork'), method: 'POST', body, headers: { 'idempotency-key': idempotencyKey } }, RunView),
    sources: (id) => transport.json(ofRun(id, '/sources'), SourceList),
    scratchpad: (id) => transport.json(ofRun(id, '/scratchpad'), ScratchpadView),
    messages: (id) => transport.json(ofRun(id, '/messages'), MessageList),
    estimate: (body) => transport.json({ method: 'POST', path: '/v1/estimates', body }, EstimateView),
    spend: () => transport.json({ method: 'GET', path: '/v1/spend' }, SpendView),
    info: () => transport.json({ method: 'GET', path: '/v1/info' }, InfoView),
    events: (id, events = {}) => followEvents(transport, id, events),
  };
}

function queryString(query: Record<string, string | number | undefined>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

/** `crypto.randomUUID` does not exist on pages served over plain HTTP. */
const randomKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
