import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request, type Dispatcher } from 'undici';
import type { ModelChunk } from '#contracts';
import { vendorOf, type LanguageModel, type ModelRequest } from '#domain';
import { crashPoint } from '#planted';
import { CallGuard, type CallLimits } from './call-guard.ts';
import { findInBandError, ProviderFailures } from './errors.ts';
import { ModelStream } from './model-stream.ts';
import type { WireProtocol } from './protocol.ts';
import { readRetryAfterMs, readShouldRetry } from './retry-after.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 4_096;
/** How long a finished answer waits for the server to end the response, so that the connection can be used again. */
const AFTER_DONE_MS = 250;
const ERROR_BODY_BYTES_MAX = 16 * 1024;

type Response = Dispatcher.ResponseData;

export interface StreamedModelOptions extends CallLimits {
  /** Up to and without the protocol's own path, such as `/chat/completions`. */
  baseUrl: string;
  apiKey?: string;
  /** Default false. */
  thinks?: boolean;
}

const callUrl = (baseUrl: string, protocolPath: string): URL => {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith(protocolPath) ? path : `${path}${protocolPath}`;
  url.hash = '';
  return url;
};

const mediaType = (headers: IncomingHttpHeaders): string => /^[^;]*/.exec(headers['content-type'] ?? '')?.[0].trim().toLowerCase() ?? '';

const readBeginning = async (body: Response['body']): Promise<string> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part);
    size += part.length;
    if (size >= ERROR_BODY_BYTES_MAX) break;
  }
  return Buffer.concat(parts).subarray(0, ERROR_BODY_BYTES_MAX).toString('utf8');
};

const parsedError = (text: string): unknown => {
  try {
    return findInBandError(JSON.parse(text));
  } catch {
    return undefined;
  }
};

/**
 * A model behind an HTTP API that streams server-sent events. One instance serves any number of calls at once over kept-alive connections.
 * It keeps no state of a call; it remembers only whether the server takes the extras of its protocol.
 */
export class StreamedModel implements LanguageModel {
  readonly id: string;
  readonly host: string;
  readonly #protocol: WireProtocol;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #limits: CallLimits;
  readonly #thinks: boolean;
  readonly #failures: ProviderFailures;
  /** No timers of its own: silence and total time are watched by the guard of each call. */
  readonly #agent = new Agent({ connections: CONNECTIONS_MAX, connect: { timeout: CONNECT_TIMEOUT_MS }, headersTimeout: 0, bodyTimeout: 0, allowH2: false });
  #sendsExtras = true;

  constructor(protocol: WireProtocol, { baseUrl, apiKey, thinks = false, idleTimeoutMs, callTimeoutMs }: StreamedModelOptions) {
    this.id = protocol.id;
    this.#protocol = protocol;
    this.#url = callUrl(baseUrl, protocol.path);
    this.host = this.#url.host;
    this.#headers = { 'content-type': 'application/json', accept: 'text/event-stream', 'accept-encoding': 'identity', ...protocol.headers(apiKey) };
    this.#limits = { idleTimeoutMs, callTimeoutMs };
    this.#thinks = thinks;
    this.#failures = new ProviderFailures(this.host, apiKey);
  }

  async stream(modelRequest: ModelRequest, onChunk: (chunk: ModelChunk) => void, signal: AbortSignal): Promise<void> {
    const guard = new CallGuard(signal, this.#limits, this.#failures);
    try {
      guard.throwIfEnded();
      const response = await this.#open(modelRequest, guard);
      await this.#read(response, modelRequest, onChunk, guard);
    } finally {
      guard.close();
    }
  }

  /** Ends idle connections; calls that run are finished first. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #open(modelRequest: ModelRequest, guard: CallGuard): Promise<Response> {
    const sentExtras = this.#sendsExtras;
    const response = await this.#send(this.#render(modelRequest, !sentExtras), guard);
    if (response.statusCode === 200) return response;
    const body = await this.#readFailure(response, guard);
    if (!sentExtras || !this.#protocol.refusesExtra(response.statusCode, body)) throw this.#statusError(response, body);
    this.#sendsExtras = false;
    const second = await this.#send(this.#render(modelRequest, true), guard);
    if (second.statusCode === 200) return second;
    throw this.#statusError(second, await this.#readFailure(second, guard));
  }

  #render(modelRequest: ModelRequest, plain: boolean): string {
    return this.#protocol.render(modelRequest, { vendor: vendorOf(this, modelRequest.model), plain, thinks: this.#thinks });
  }

  async #send(body: string, guard: CallGuard): Promise<Response> {
    try {
      const answered = request(this.#url, { method: 'POST', headers: this.#headers, body, dispatcher: this.#agent, signal: guard.signal });
      crashPoint('K06');
      const response = await answered;
      crashPoint('K07');
      return response;
    } catch (error) {
      guard.throwIfEnded();
      throw this.#failures.noAnswer(error);
    }
  }

  async #readFailure(response: Response, guard: CallGuard): Promise<string> {
    try {
      return await readBeginning(response.body);
    } catch {
      // The status says enough; a body that breaks off only loses its text.
      guard.throwIfEnded();
      return '';
    }
  }

  #statusError({ statusCode, headers }: Response, body: string): Error {
    return this.#failures.status({ status: statusCode, body, retryAfterMs: readRetryAfterMs(headers, Date.now()), shouldRetry: readShouldRetry(headers) });
  }

  async #read(response: Response, { model, tools, maxOutputTokens }: ModelRequest, emit: (chunk: ModelChunk) => void, guard: CallGuard): Promise<void> {
    await this.#requireEventStream(response, guard);
    const offered = new Map(tools.map(({ name, parameters }) => [name, parameters]));
    const reader = this.#protocol.createReader({ emit, failures: this.#failures, model, tools: offered, maxOutputTokens });
    const stream = new ModelStream(reader, this.#failures, () => guard.feed());
    try {
      await this.#pump(response.body, stream, guard);
      stream.complete();
    } catch (error) {
      stream.flushUsage();
      throw error;
    }
  }

  /** Feeds the stream without waiting between chunks. */
  async #pump(body: Response['body'], stream: ModelStream, guard: CallGuard): Promise<void> {
    let reading = true;
    try {
      for await (const bytes of body as AsyncIterable<Buffer>) {
        if (stream.done) continue;
        reading = false;
        stream.feed(bytes);
        reading = true;
        if (stream.done) guard.shortenIdle(AFTER_DONE_MS);
      }
      reading = false;
      if (guard.cancelled || !stream.done) guard.throwIfEnded();
      stream.end();
      if (guard.cancelled) guard.throwIfEnded();
    } catch (error) {
      if (!reading) throw error;
      if (guard.cancelled || !stream.done) guard.throwIfEnded();
      // After its end marker the answer is whole, however the connection ends.
      if (!stream.done) throw this.#failures.brokenBody(error);
    }
  }

  async #requireEventStream({ headers, body }: Response, guard: CallGuard): Promise<void> {
    const type = mediaType(headers);
    const encoding = String(headers['content-encoding'] ?? 'identity');
    if ((type === 'text/event-stream' || type === '') && encoding === 'identity') return;
    const text = await readBeginning(body).catch((error: unknown) => {
      guard.throwIfEnded();
      throw this.#failures.brokenBody(error);
    });
    if (encoding !== 'identity') throw this.#failures.protocol(`sent its answer with the encoding "${encoding}", though none was asked for`);
    const error = parsedError(text);
    throw error === undefined ? this.#failures.protocol(`answered with "${type}" and not with an event stream`, text) : this.#failures.inBand(error);
  }
}
