import { request, type Dispatcher } from 'undici';
import { z } from 'zod';
import { QuaestorError, type SearchHit } from '#contracts';
import { canonicalUrl, isDocumentUrl, oneLine, truncateChars, type SearchAnswer, type SearchProvider } from '#domain';
import { collectBody } from '../fetch/decode-body.ts';
import { defineSearchProvider } from './provider.ts';

const PROVIDER_ID = 'searxng';
const TIMEOUT_MS = 15_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const RESULTS_READ_MAX = 1_000;
const TITLE_CHARS_MAX = 300;
const SNIPPET_CHARS_MAX = 500;
const FIELD_CHARS_MAX = 60;

/**
 * Searches through a SearXNG instance. Its base address is the operator's own word, so it alone may be private; redirects are not
 * followed. One try, 15 s.
 */
export const searxngSearch = defineSearchProvider({
  id: PROVIDER_ID,
  config: z.object({
    SEARXNG_URL: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Base address of a SearXNG instance. It alone may be on a private address without being listed. Default: unset.'),
  }),
  create({ SEARXNG_URL: base }): SearchProvider {
    if (base === undefined) throw new QuaestorError('CONFIG_INVALID', 'The search engine `searxng` needs the address of an instance: set SEARXNG_URL.');
    return { id: PROVIDER_ID, search: (query, limit, signal) => searchSearxng(base, query, limit, signal) };
  },
});

const Answer = z.object({
  results: z.array(z.unknown()),
  unresponsive_engines: z.array(z.unknown()).nullish().catch(null),
});

const Result = z.object({
  url: z.string(),
  title: z.string().nullish().catch(null),
  content: z.string().nullish().catch(null),
  engine: z.string().nullish().catch(null),
  publishedDate: z.string().nullish().catch(null),
  score: z.number().nullish().catch(null),
});
type Result = z.infer<typeof Result>;

async function searchSearxng(base: string, query: string, limit: number, signal: AbortSignal): Promise<SearchAnswer> {
  const answer = parseAnswer(base, await ask(base, query, signal));
  const hits = toHits(answer.results.slice(0, RESULTS_READ_MAX)).slice(0, limit).map((hit, position) => ({ ...hit, rank: position + 1 }));
  const silent = describeSilent(answer.unresponsive_engines ?? []);
  return silent === null ? { hits } : { hits, degraded: silent };
}

async function ask(base: string, query: string, signal: AbortSignal): Promise<string> {
  const url = new URL('search', base.endsWith('/') ? base : `${base}/`);
  url.search = new URLSearchParams({ q: query, format: 'json', categories: 'general', language: 'en' }).toString();
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await request(url, { headers: { accept: 'application/json' }, signal: AbortSignal.any([signal, deadline]) });
    return await readAnswer(base, response);
  } catch (error) {
    if (error instanceof QuaestorError) throw error;
    if (deadline.aborted) throw failed(base, `did not answer within ${TIMEOUT_MS} ms`, { cause: error });
    if (signal.aborted) throw failed(base, 'was not waited for: the call was stopped', { cause: error });
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'connection failed';
    throw failed(base, `cannot be reached (${code}): check SEARXNG_URL and that the instance runs`, { cause: error });
  }
}

async function readAnswer(base: string, { statusCode, headers, body }: Dispatcher.ResponseData): Promise<string> {
  if (statusCode === 200) {
    const bytes = await collectBody(body, ANSWER_BYTES_MAX, base).catch((cause: unknown) => {
      body.destroy();
      throw cause instanceof QuaestorError ? failed(base, `sent more than ${ANSWER_BYTES_MAX} bytes`, { cause }) : cause;
    });
    return bytes.toString('utf8');
  }
  body.on('error', () => undefined).destroy();
  if (statusCode === 403) throw failed(base, 'refuses JSON answers (HTTP 403): add `json` to `search.formats` in its settings.yml', { retryable: false });
  if (statusCode === 429) {
    const seconds = Number(headers['retry-after']);
    const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
    throw failed(base, 'limits our requests (HTTP 429): switch off `server.limiter` in its settings.yml or allow this host', { retryAfterMs });
  }
  throw failed(base, `answered with HTTP status ${statusCode}: check SEARXNG_URL`, { retryable: statusCode >= 500 });
}

function parseAnswer(base: string, text: string): z.infer<typeof Answer> {
  if (/^\s*</.test(text)) throw failed(base, 'answered with HTML instead of JSON: check SEARXNG_URL and add `json` to `search.formats` in its settings.yml', { retryable: false });
  try {
    return Answer.parse(JSON.parse(text));
  } catch (cause) {
    throw failed(base, 'answered with something that is no SearXNG result list: check SEARXNG_URL', { cause, retryable: false });
  }
}

/** Well-formed http results, best score first, each page once. Malformed ones are left out, not fatal: engines differ in care. */
function toHits(results: unknown[]): Omit<SearchHit, 'rank'>[] {
  const parsed = results.flatMap((result) => Result.safeParse(result).data ?? []);
  parsed.sort((left, right) => (right.score ?? 0) - (left.score ?? 0));
  const hits = new Map<string, Omit<SearchHit, 'rank'>>();
  for (const result of parsed) {
    const url = publicUrl(result.url);
    if (url !== null && !hits.has(url)) hits.set(url, toHit(url, result));
  }
  return [...hits.values()];
}

function toHit(url: string, { title, content, engine, publishedDate }: Result): Omit<SearchHit, 'rank'> {
  return {
    url,
    title: shown(title, TITLE_CHARS_MAX) || url,
    snippet: shown(content, SNIPPET_CHARS_MAX),
    ...(engine ? { engine: shown(engine, FIELD_CHARS_MAX) } : {}),
    ...(publishedDate ? { published: shown(publishedDate, FIELD_CHARS_MAX) } : {}),
  };
}

/** A search engine may only point to the web, never into the document folder. */
function publicUrl(address: string): string | null {
  if (isDocumentUrl(address)) return null;
  try {
    return canonicalUrl(address);
  } catch {
    return null;
  }
}

function describeSilent(engines: unknown[]): string | null {
  if (engines.length === 0) return null;
  const names = engines.slice(0, 10).map((entry) => (Array.isArray(entry) ? `${shown(entry[0], 30)} (${shown(entry[1], 60)})` : shown(entry, 60)));
  return `Engines that did not answer: ${names.join(', ')}.`;
}

/** The first characters are enough: a title of 10 MB is not cleaned as a whole. */
function shown(value: unknown, charsMax: number): string {
  return typeof value === 'string' ? truncateChars(oneLine(value.slice(0, charsMax * 4)), charsMax) : '';
}

function failed(base: string, reason: string, options: { cause?: unknown; retryable?: boolean; retryAfterMs?: number | undefined } = {}): QuaestorError {
  return new QuaestorError('SEARCH_FAILED', `The SearXNG instance ${new URL(base).host} ${reason}.`, options);
}
