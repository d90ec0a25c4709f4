import { request, type Agent, type Dispatcher } from 'undici';
import { QuaestorError } from '#contracts';
import { AddressGuard } from './address-guard.ts';
import { ACCEPT_ENCODING, collectBody, decodeBody, tooLarge } from './decode-body.ts';
import { createGuardedAgent, resolveByDns, type ResolveHost } from './guarded-connector.ts';

const REDIRECTS_MAX = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

export interface SafeFetchOptions {
  guard: AddressGuard;
  bytesMax: number;
  /** For one page with all its redirects, body included. */
  timeoutMs: number;
  userAgent: string;
  /** Default: the system's resolver. */
  resolveHost?: ResolveHost;
}

export interface FetchedBody {
  /** After redirects. */
  finalUrl: string;
  /** The raw header, or an empty string. */
  contentType: string;
  bytes: Buffer;
}

/** Fetches public pages. Keeps connections, but no cookies and no credentials. */
export class SafeFetch {
  readonly #options: SafeFetchOptions;
  readonly #agent: Agent;

  constructor(options: SafeFetchOptions) {
    this.#options = options;
    this.#agent = createGuardedAgent(options.guard, options.resolveHost ?? resolveByDns, options.timeoutMs);
  }

  /**
   * GET of one page. Redirects (at most 5) are followed by hand, each hop judged from the start, and by `admit`, which throws to refuse it. Throws `URL_REFUSED` before any byte is
   * sent to a refused address, `PAGE_TOO_LARGE`, and `PAGE_FETCH_FAILED` for everything else, an abort included. Safe to repeat.
   */
  async get(address: string, signal: AbortSignal, admit: (address: string) => void = () => undefined): Promise<FetchedBody> {
    const url = this.#options.guard.check(address);
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(timedOut(url, this.#options.timeoutMs)), this.#options.timeoutMs);
    const abort = () => deadline.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await this.#follow(url, deadline.signal, admit);
    } catch (error) {
      throw asFetchError(error, url, deadline.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #follow(start: URL, signal: AbortSignal, admit: (address: string) => void): Promise<FetchedBody> {
    let url = start;
    for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
      const response = await this.#send(url, signal);
      const location = headerOf(response, 'location');
      if (!REDIRECT_STATUSES.has(response.statusCode) || location === '') return await this.#receive(url, response);
      discard(response);
      url = this.#options.guard.checkRedirect(url, location);
      admit(url.href);
    }
    throw new QuaestorError('PAGE_FETCH_FAILED', `The page ${start.href} redirects more than ${REDIRECTS_MAX} times.`, { retryable: false });
  }

  #send(url: URL, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return request(url, {
      dispatcher: this.#agent,
      signal,
      headers: {
        'user-agent': this.#options.userAgent,
        accept: 'text/html,application/xhtml+xml,application/pdf,text/plain,text/markdown;q=0.9,*/*;q=0.1',
        'accept-encoding': ACCEPT_ENCODING,
        'accept-language': 'en, *;q=0.5',
      },
    });
  }

  async #receive(url: URL, response: Dispatcher.ResponseData): Promise<FetchedBody> {
    const { bytesMax } = this.#options;
    try {
      if (response.statusCode !== 200) throw badStatus(url, response.statusCode);
      if (Number(headerOf(response, 'content-length')) > bytesMax) throw tooLarge(url.host, bytesMax);
      const body = await collectBody(response.body, bytesMax, url.host);
      const bytes = await decodeBody(body, headerOf(response, 'content-encoding'), bytesMax, url.host);
      return { finalUrl: url.href, contentType: headerOf(response, 'content-type'), bytes };
    } catch (error) {
      discard(response);
      throw error;
    }
  }
}

function headerOf(response: Dispatcher.ResponseData, name: string): string {
  const value = response.headers[name];
  return (Array.isArray(value) ? value.join(', ') : value) ?? '';
}

/** Ends a body nobody will read, so that its socket is freed. The error this makes the stream raise is the one we already report. */
function discard(response: Dispatcher.ResponseData): void {
  response.body.on('error', () => undefined);
  response.body.destroy();
}

function badStatus(url: URL, status: number): QuaestorError {
  const retryable = status === 429 || status >= 500;
  return new QuaestorError('PAGE_FETCH_FAILED', `The page ${url.href} answered with HTTP status ${status}.`, { retryable, details: { status } });
}

function timedOut(url: URL, timeoutMs: number): QuaestorError {
  return new QuaestorError('PAGE_FETCH_FAILED', `The page ${url.href} did not arrive within ${timeoutMs} ms.`);
}

function asFetchError(error: unknown, url: URL, signal: AbortSignal): QuaestorError {
  if (signal.aborted && signal.reason instanceof QuaestorError) return signal.reason;
  if (signal.aborted) return new QuaestorError('PAGE_FETCH_FAILED', `The fetch of ${url.href} was stopped.`, { cause: error });
  if (error instanceof QuaestorError) return error;
  if (error instanceof Error && error.cause instanceof QuaestorError) return error.cause;
  const reason = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'connection failed';
  return new QuaestorError('PAGE_FETCH_FAILED', `The page ${url.href} could not be fetched (${reason}).`, { cause: error });
}
