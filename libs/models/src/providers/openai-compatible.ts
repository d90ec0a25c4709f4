import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request, type Dispatcher } from 'undici';
import type { z } from 'zod';
import type { ModelChunk } from '#contracts';
import type { LanguageModel, ModelRequest } from '#domain';
import { crashPoint } from '#planted';
import { CallGuard, type CallLimits } from '../call-guard.ts';
import { describeModel } from '../catalog.ts';
import { CompletionReader } from '../chat-completions/completion-reader.ts';
import { renderRequestBody } from '../chat-completions/request-body.ts';
import { modelConfig } from '../config.ts';
import { EVENT_CHARS_MAX, EventStreamReader } from '../sse.ts';
import { findInBandError, ProviderFailures } from '../errors.ts';
import { readRetryAfterMs } from '../retry-after.ts';
import type { ModelProvider } from './provider.ts';

const ID = 'openai-compatible';
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 4_096;
/** How long a finished answer waits for the server to end the response, so that the connection can be used again. */
const AFTER_DONE_MS = 250;
const ERROR_BODY_BYTES_MAX = 16 * 1024;

type Response = Dispatcher.ResponseData;

export interface OpenAiCompatibleOptions extends CallLimits {
  /** Up to and without `/chat/completions`. */
  baseUrl: string;
  apiKey?: string;
}

const completionsUrl = (baseUrl: string): URL => {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/chat/completions') ? path : `${path}/chat/completions`;
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

/** True when the server refuses `stream_options`, which older ones do not know. */
const refusesUsage = (status: number, body: string): boolean => (status === 400 || status === 422) && /stream_options|include_usage/.test(body);

/**
 * A model behind an OpenAI-compatible chat-completions API. One instance serves any number of calls at once over kept-alive
 * connections. It keeps no state of a call; it remembers only whether the server takes `stream_options`.
 */
export class OpenAiCompatibleModel implements LanguageModel {
  readonly id = ID;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #limits: CallLimits;
  readonly #failures: ProviderFailures;
  /** No timers of its own: silence and total time are watched by the guard of each call. */
  readonly #agent = new Agent({ connections: CONNECTIONS_MAX, connect: { timeout: CONNECT_TIMEOUT_MS }, headersTimeout: 0, bodyTimeout: 0, allowH2: false });
  #asksForUsage = true;

  constructor({ baseUrl, apiKey, idleTimeoutMs, callTimeoutMs }: OpenAiCompatibleOptions) {
    this.#url = completionsUrl(baseUrl);
    this.#headers = {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    };
    this.#limits = { idleTimeoutMs, callTimeoutMs };
    this.#failures = new ProviderFailures(this.#url.host, apiKey);
  }

  async stream(modelRequest: ModelRequest, onChunk: (chunk: ModelChunk) => void, signal: AbortSignal): Promise<void> {
    const guard = new CallGuard(signal, this.#limits, this.#failures);
    try {
      guard.throwIfEnded();
      const response = await this.#open(modelRequest, guard);
      await this.#read(response, onChunk, guard);
    } finally {
      guard.close();
    }
  }

  /** Ends idle connections; calls that run are finished first. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #open(modelRequest: ModelRequest, guard: CallGuard): Promise<Response> {
    const { quirks } = describeModel(modelRequest.model);
    const askedForUsage = this.#asksForUsage;
    const response = await this.#send(renderRequestBody(modelRequest, quirks, askedForUsage), guard);
    if (response.statusCode === 200) return response;
    const body = await this.#readFailure(response, guard);
    if (!askedForUsage || !refusesUsage(response.statusCode, body)) throw this.#statusError(response, body);
    this.#asksForUsage = false;
    const second = await this.#send(renderRequestBody(modelRequest, quirks, false), guard);
    if (second.statusCode === 200) return second;
    throw this.#statusError(second, await this.#readFailure(second, guard));
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
    return this.#failures.status({ status: statusCode, body, retryAfterMs: readRetryAfterMs(headers, Date.now()) });
  }

  async #read(response: Response, onChunk: (chunk: ModelChunk) => void, guard: CallGuard): Promise<void> {
    await this.#requireEventStream(response, guard);
    const reader = new CompletionReader(onChunk, this.#failures);
    try {
      await this.#consume(response.body, reader, guard);
      reader.complete();
    } catch (error) {
      reader.flushUsage();
      throw error;
    }
  }

  async #consume(body: Response['body'], reader: CompletionReader, guard: CallGuard): Promise<void> {
    const events = new EventStreamReader({
      onEvent: (data, event) => {
        guard.feed();
        reader.acceptEvent(data, event);
      },
      onOversize: () => {
        throw this.#failures.protocol(`sent an event of more than ${EVENT_CHARS_MAX} characters`);
      },
    });
    const whole = await this.#pump(body, events, reader, guard);
    if (guard.cancelled || !reader.done) guard.throwIfEnded();
    if (!whole && !reader.done) throw this.#failures.cut('ended its answer in the middle of a line');
  }

  /** Feeds the parser without waiting between chunks. Returns false when the bytes stop inside a line. */
  async #pump(body: Response['body'], events: EventStreamReader, reader: CompletionReader, guard: CallGuard): Promise<boolean> {
    let reading = true;
    try {
      for await (const bytes of body as AsyncIterable<Buffer>) {
        if (reader.done) continue;
        reading = false;
        events.feed(bytes);
        reading = true;
        if (reader.done) guard.shortenIdle(AFTER_DONE_MS);
      }
      reading = false;
      return events.end();
    } catch (error) {
      if (!reading) throw error;
      // After [DONE] the answer is whole, however the connection ends.
      if (reader.done) return true;
      guard.throwIfEnded();
      throw this.#failures.brokenBody(error);
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

const openAiCompatibleConfig = modelConfig
  .pick({ MODEL_BASE_URL: true, MODEL_API_KEY: true, MODEL_IDLE_TIMEOUT_MS: true, MODEL_CALL_TIMEOUT_MS: true })
  .required({ MODEL_BASE_URL: true });

export const openAiCompatibleProvider = {
  id: ID,
  config: openAiCompatibleConfig,
  create: (config: z.infer<typeof openAiCompatibleConfig>) =>
    new OpenAiCompatibleModel({
      baseUrl: config.MODEL_BASE_URL,
      apiKey: config.MODEL_API_KEY,
      idleTimeoutMs: config.MODEL_IDLE_TIMEOUT_MS,
      callTimeoutMs: config.MODEL_CALL_TIMEOUT_MS,
    }),
} satisfies ModelProvider;
