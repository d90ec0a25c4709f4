import { ERROR_CODES, ErrorView, QuaestorError, type ErrorCode } from '#contracts';
import type { z } from 'zod';
import { backoffMs, pause } from './backoff.ts';

export interface ClientOptions {
  /** Address of the gateway, such as `http://127.0.0.1:4100`. A path in front of `/v1` is kept. */
  baseUrl: string;
  apiKey: string;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch;
  /** How often a call is repeated while the gateway cannot be reached. Default 5 (about 3 s in all). */
  retriesMax?: number;
}

const RETRIES_DEFAULT = 5;
const RETRY_BASE_MS = 200;
const REQUEST_TIMEOUT_MS = 30_000;

export interface ApiRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Requests to one gateway. Each call is repeated while the gateway cannot be reached: reads, and writes that carry an idempotency key or are idempotent. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #fetch: typeof fetch;
  readonly #base: string;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#base = options.baseUrl.replace(/\/+$/, '');
  }

  /** Sends once. A connection that fails is `SERVICE_UNAVAILABLE`; an answer above 399 is the error that its body names. */
  async send(request: ApiRequest, signal?: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await this.#fetch(this.#base + request.path, {
        method: request.method,
        headers: {
          authorization: `Bearer ${this.#options.apiKey}`,
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...request.headers,
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(signal ? { signal } : {}),
      });
    } catch (cause) {
      throw this.unreachable(cause);
    }
    if (response.ok) return response;
    throw await errorOf(response);
  }

  /** @throws QuaestorError the gateway's own error, or `SERVICE_UNAVAILABLE` once the retries are used up. */
  async json<Schema extends z.ZodType>(request: ApiRequest, schema: Schema): Promise<z.infer<Schema>> {
    for (let failures = 0; ; failures++) {
      try {
        const response = await this.send(request, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
        return this.#parse(await this.#bodyOf(response), schema);
      } catch (error) {
        if (!(error instanceof QuaestorError) || !error.retryable || failures >= (this.#options.retriesMax ?? RETRIES_DEFAULT)) throw error;
        await pause(Math.max(error.retryAfterMs ?? 0, backoffMs(RETRY_BASE_MS, failures, Math.random())));
      }
    }
  }

  unreachable(cause?: unknown): QuaestorError {
    return new QuaestorError('SERVICE_UNAVAILABLE', `Quaestor at ${this.#base} cannot be reached: check that it runs and that the address is right.`, { cause });
  }

  foreign(cause?: unknown): QuaestorError {
    return new QuaestorError('INVALID_REQUEST', `${this.#base} did not answer like a Quaestor gateway: check the address, and that both have the same version.`, { cause });
  }

  async #bodyOf(response: Response): Promise<unknown> {
    try {
      return await response.json();
    } catch (cause) {
      if (cause instanceof SyntaxError) throw this.foreign(cause);
      throw this.unreachable(cause);
    }
  }

  #parse<Schema extends z.ZodType>(body: unknown, schema: Schema): z.infer<Schema> {
    const parsed = schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw this.foreign(parsed.error);
  }
}

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERROR_CODES, code);

/** The error a response names; a body that is not ours (a proxy's page) is told by its status. */
async function errorOf(response: Response): Promise<QuaestorError> {
  const view = ErrorView.safeParse(await response.json().catch(() => undefined));
  const code = view.success && isErrorCode(view.data.error.code) ? view.data.error.code : codeOfStatus(response.status);
  const message = view.success ? view.data.error.message : `The service answered ${response.status}.`;
  const retryAfterSeconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new QuaestorError(code, message, {
    ...(Number.isFinite(retryAfterSeconds) ? { retryAfterMs: retryAfterSeconds * 1_000 } : {}),
    details: { status: response.status, ...(view.success ? { requestId: view.data.error.request_id, param: view.data.error.param } : {}) },
  });
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'UNAUTHORIZED';
  if (status === 403) return 'FORBIDDEN';
  if (status === 404) return 'NOT_FOUND';
  if (status === 413) return 'BODY_TOO_LARGE';
  if (status === 429) return 'RATE_LIMITED';
  if (status >= 502 && status <= 504) return 'SERVICE_UNAVAILABLE';
  return status >= 500 ? 'INTERNAL_ERROR' : 'INVALID_REQUEST';
}
