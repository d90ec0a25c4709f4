import net, { type AddressInfo, type Socket } from 'node:net';
import { countTokens } from './answer-stream.ts';
import { sendAnswer } from './chat.ts';
import { answerWebRequest } from './fixture-web.ts';
import { sendJson } from './http-answers.ts';
import { HttpRequests, type HttpRequest } from './http-requests.ts';
import { protocolProblem } from './protocol.ts';
import { RequestLog, type LoggedRequest } from './request-log.ts';
import { RunRecords, type RunRecord } from './run-records.ts';
import { taskNumber, type ModelScript, type ScriptedAnswer } from './script.ts';
import { directiveOf, scriptRequest, type Directive } from './script-request.ts';
import { SERVED_PROTOCOLS, type ServedProtocol } from './served-protocols.ts';
import { TimerQueue } from './timer-queue.ts';
import { textOf, type WireRequest } from './wire-types.ts';

export interface ModelServerOptions {
  /** Known scripts. A question that names one plays it; any other question plays `defaultScript`. */
  scripts: readonly ModelScript[];
  defaultScript: ModelScript;
  /** 0 (default) takes a free port. */
  port?: number;
  /** Refuse requests that break the protocol real vendors enforce. Default true. */
  isStrict?: boolean;
  /** Accept calls of other vendors in the history, under the ids the engine makes for them. Default false. */
  takesForeignCalls?: boolean;
  /** Keep every request for `/__requests`; scripts are then told how often a turn was asked for. Default false. */
  keepsRequests?: boolean;
}

export interface ModelServer {
  /** Without a trailing slash; the model is at `<url>/v1`, the fixture web at `<url>`. */
  url: string;
  records: RunRecords;
  close(): Promise<void>;
}

/** Starts the scripted model and its fixture web on one port of 127.0.0.1. */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const state = new ModelServerState(options);
  const sockets = new Set<Socket>();
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    state.serve(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    state.timers.stop();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: state.url, records: state.records, close };
}

class ModelServerState {
  url = '';
  readonly records = new RunRecords();
  readonly timers = new TimerQueue();
  readonly #log: RequestLog | null;
  readonly #options: ModelServerOptions;
  readonly #startedSeconds = Math.floor(Date.now() / 1_000);
  /** The first instructions and tools each role was given since the last reset, so that a comparison can be given the same. */
  readonly #prompts: Record<string, { instructions: string; tools: WireRequest['tools'] }> = {};
  #responses = 0;
  #open = 0;
  #openPeak = 0;

  constructor(options: ModelServerOptions) {
    this.#options = options;
    this.#log = options.keepsRequests ? new RequestLog() : null;
  }

  serve(socket: Socket): void {
    const requests = new HttpRequests();
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      for (const request of requests.push(bytes)) this.#answer(socket, request);
    });
  }

  #answer(socket: Socket, request: HttpRequest): void {
    const url = new URL(request.target, this.url);
    const served = request.method === 'POST' ? SERVED_PROTOCOLS.find(({ path }) => url.pathname.endsWith(path)) : undefined;
    if (served !== undefined) return this.#chat(socket, request, served);
    if (answerWebRequest(socket, url, this.records, this.#log)) return;
    if (url.pathname === '/__runs') return sendJson(socket, this.#listRuns(url.searchParams.get('id')));
    if (url.pathname === '/__requests') return sendJson(socket, this.#log?.list(url.searchParams.get('run')) ?? []);
    if (url.pathname === '/__writes') return sendJson(socket, this.#log?.writes(url.searchParams.get('run')) ?? []);
    if (url.pathname === '/__prompts') return sendJson(socket, this.#prompts);
    if (url.pathname === '/__stats') return sendJson(socket, this.#stats());
    if (url.pathname === '/__reset' && request.method === 'POST') return this.#reset(socket);
    if (url.pathname.endsWith('/models')) return sendJson(socket, { object: 'list', data: [{ id: 'scripted', object: 'model', owned_by: 'quaestor' }] });
    sendJson(socket, { error: { message: `no such path: ${url.pathname}` } }, 404);
  }

  #chat(socket: Socket, request: HttpRequest, served: ServedProtocol): void {
    const keyProblem = this.#options.isStrict === false ? null : served.keyProblem(request);
    if (keyProblem !== null) return sendJson(socket, { error: { message: keyProblem, type: 'authentication_error' } }, 401);
    const body = parseJson(request.body);
    const read = body === undefined ? 'the body is not JSON' : served.read(body);
    const problem = typeof read === 'string' ? read : this.#problemOf(read);
    const wire = (typeof read === 'string' ? {} : read) as WireRequest;
    const directive = directiveOf(Array.isArray(wire?.messages) ? wire.messages : []);
    const { record, close } = this.records.open(directive.runId);
    record.modelRequests++;
    record.bytesIn += request.bodyBytes;
    if (problem !== null) {
      record.protocolProblems++;
      record.firstProblem ??= problem;
      sendJson(socket, { error: { message: problem, type: 'invalid_request_error', param: 'messages', code: null } }, 400);
      return close();
    }
    const { answer, entry } = this.#play(wire, directive, record, request.bodyBytes);
    const responseNumber = ++this.#responses;
    const prepared = {
      id: `chatcmpl-${responseNumber.toString(36).padStart(8, '0')}`,
      responseNumber,
      model: wire.model,
      createdSeconds: this.#startedSeconds,
      answer,
      events: served.events,
      promptTokens: Math.ceil(request.bodyBytes / 4),
      isUsageAsked: wire.stream_options?.include_usage === true,
      onWrite: () => void (entry && this.#log?.written(entry)),
    };
    sendAnswer(socket, prepared, wire.stream === true, this.timers, this.#track(socket, record, entry, close));
  }

  #problemOf(body: unknown): string | null {
    return this.#options.isStrict === false ? null : protocolProblem(body, this.#options.takesForeignCalls);
  }

  #play(wire: WireRequest, directive: Directive, record: RunRecord, bodyBytes: number): { answer: ScriptedAnswer; entry: LoggedRequest | null } {
    const seen = scriptRequest(wire, directive, this.url);
    const logged = this.#log?.model(seen, wire);
    seen.timesAsked = logged?.timesAsked ?? 0;
    this.records.noteRole(record, seen.role, bodyBytes);
    this.#prompts[seen.role] ??= { instructions: textOf(wire.messages.find((message) => message.role === 'system')?.content), tools: wire.tools ?? [] };
    if (directive.parameters.get('u') === '1') {
      this.records.noteDistinct(directive.runId, wire.messages);
      this.records.noteCacheable(directive.runId, seen.role, `${seen.role} ${taskNumber(seen)}`, wire);
    }
    const script = this.#options.scripts.find((candidate) => candidate.name === directive.scriptName) ?? this.#options.defaultScript;
    const answer = answerTo(wire, script.answer(seen));
    record.outputTokens += countTokens(answer);
    return { answer, entry: logged?.entry ?? null };
  }

  /** Counts a stream as open until it is done, or until its client has gone. The returned function may be called again. */
  #track(socket: Socket, record: RunRecord, entry: LoggedRequest | null, close: () => void): () => void {
    this.#openPeak = Math.max(this.#openPeak, ++this.#open);
    let isDone = false;
    const done = (isAnswered = true): void => {
      if (isDone) return;
      isDone = true;
      if (entry) this.#log?.end(entry, isAnswered);
      this.#open--;
      socket.off('close', onClose);
      close();
    };
    const onClose = (): void => {
      record.aborted++;
      done(false);
    };
    socket.once('close', onClose);
    return done;
  }

  #listRuns(id: string | null): unknown {
    return id === null ? this.records.list() : this.records.list().filter((record) => record.id === id);
  }

  #stats(): unknown {
    const { lateness } = this.timers;
    const meanLateMs = lateness.count === 0 ? 0 : lateness.totalMs / lateness.count;
    return {
      responses: this.#responses,
      open: this.#open,
      openPeak: this.#openPeak,
      runs: this.records.list().length,
      meanLateMs,
      maxLateMs: lateness.maxMs,
      cpuMicroseconds: process.cpuUsage(),
      rssBytes: process.memoryUsage.rss(),
    };
  }

  #reset(socket: Socket): void {
    this.records.clear();
    for (const role of Object.keys(this.#prompts)) delete this.#prompts[role];
    this.#openPeak = this.#open;
    Object.assign(this.timers.lateness, { totalMs: 0, count: 0, maxMs: 0 });
    sendJson(socket, { ok: true });
  }
}

/** A model that was not asked to think says nothing of what it thought. */
function answerTo({ thinks = true }: WireRequest, { reasoning, ...answer }: ScriptedAnswer): ScriptedAnswer {
  return thinks && reasoning !== undefined ? { ...answer, reasoning } : answer;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
