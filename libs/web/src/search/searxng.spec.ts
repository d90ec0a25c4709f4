import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { searxngSearch } from './searxng.ts';

const never = new AbortController().signal;
let answer: (response: ServerResponse, url: URL) => void = () => undefined;
let asked: URL | undefined;
const server = createServer((incoming, response) => {
  asked = new URL(incoming.url ?? '/', 'http://test');
  answer(response, asked);
});
let base = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/searx`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function search(given: unknown, limit = 10) {
  answer = (response) => response.setHeader('content-type', 'application/json').end(JSON.stringify(given));
  return searxngSearch.create({ SEARXNG_URL: base }, { documents: null as never, collection: null }).search('amber moths', limit, never);
}
function searchRaw(respond: (response: ServerResponse) => void, signal = never) {
  answer = respond;
  return searxngSearch.create({ SEARXNG_URL: base }, { documents: null as never, collection: null }).search('amber moths', 10, signal);
}

const result = (url: string, score: unknown, rest: object = {}) => ({ url, title: `Title of ${url}`, content: 'A snippet.', engine: 'duck', score, ...rest });

describe('SearXNG', () => {
  it('asks for JSON and sorts by score, a missing score last', async () => {
    const { hits, degraded } = await search({ results: [result('https://a.com/', null), result('https://b.com/', 2.5, { publishedDate: '2026-01-02' }), result('https://c.com/', 7)] });
    expect(asked?.pathname).toBe('/searx/search');
    expect(Object.fromEntries(asked?.searchParams ?? [])).toEqual({ q: 'amber moths', format: 'json', categories: 'general', language: 'en' });
    expect(hits.map(({ rank, url }) => [rank, url])).toEqual([[1, 'https://c.com/'], [2, 'https://b.com/'], [3, 'https://a.com/']]);
    expect(hits[1]).toEqual({ rank: 2, url: 'https://b.com/', title: 'Title of https://b.com/', snippet: 'A snippet.', engine: 'duck', published: '2026-01-02' });
    expect(degraded).toBeUndefined();
  });

  it('an empty list is an answer; silent engines are named', async () => {
    expect(await search({ results: [] })).toEqual({ hits: [] });
    expect(await search({ results: [], unresponsive_engines: [['google', 'CAPTCHA'], 'bing', 7] })).toEqual({
      hits: [],
      degraded: expect.stringContaining('google (CAPTCHA), bing'),
    });
  });

  it('[Q-17] caps and cleans what engines send', async () => {
    const { hits } = await search({
      results: [
        result('https://a.com/?utm_source=x', 9, { title: `Long\u0007 ${'t'.repeat(1_000_000)}`, content: 42 }),
        result('https://a.com/', 8),
        result('javascript:alert(1)', 8), result('file:///etc/passwd', 8), result('doc:secret.md', 8), result('not an address', 8),
        result('https://b.com/', '7'), 'nonsense', null, { title: 'no url' },
        ...Array.from({ length: 3_000 }, (_, number) => result(`https://many.com/${number}`, 1)),
      ],
    });
    expect(hits).toHaveLength(10);
    expect(hits.map(({ url }) => url).slice(0, 2)).toEqual(['https://a.com/', 'https://many.com/0']);
    expect(hits[0]?.title).toHaveLength(300);
    expect(hits[0]?.title).toMatch(/^Long t/);
    expect(hits[0]?.snippet).toBe('');
  });

  it('gives no more than asked for', async () => {
    expect((await search({ results: [result('https://a.com/', 1), result('https://b.com/', 2)] }, 1)).hits).toHaveLength(1);
  });

  it.each<[string, (response: ServerResponse) => void, object]>([
    ['403', (response) => response.writeHead(403).end('Forbidden'), { retryable: false, message: expect.stringContaining('search.formats') }],
    ['429', (response) => response.writeHead(429, { 'retry-after': '3' }).end(), { retryable: true, retryAfterMs: 3_000, message: expect.stringContaining('server.limiter') }],
    ['500', (response) => response.writeHead(500).end(), { retryable: true }],
    ['404', (response) => response.writeHead(404).end(), { retryable: false }],
    ['a redirect', (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), { retryable: false }],
    ['HTML', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>search</p>'), { message: expect.stringContaining('HTML instead of JSON') }],
    ['cut JSON', (response) => response.end('{"results": ['), { retryable: false }],
    ['another schema', (response) => response.end('{"results": {"a": 1}}'), { retryable: false }],
    ['[B36] an error in the place of results', (response) => response.end('{"error": "quota exceeded"}'), { retryable: false }],
    ['[B36] 400, as for a query that is too long', (response) => response.writeHead(400).end('query too long'), { retryable: false }],
    ['a cut connection', (response) => response.destroy(), { retryable: true }],
    ['10 MB', (response) => response.end('x'.repeat(10_000_000)), { message: expect.stringContaining('more than') }],
  ])('[Q-01] %s is an error with a sentence that says what to do', async (_, respond, expected) => {
    await expect(searchRaw(respond)).rejects.toMatchObject({ code: 'SEARCH_FAILED', message: expect.stringContaining('127.0.0.1'), ...expected });
  });

  it('[B36] an abort ends the wait for an answer that never comes', async () => {
    const abort = new AbortController();
    await expect(searchRaw(() => abort.abort(), abort.signal)).rejects.toMatchObject({ code: 'SEARCH_FAILED' });
  });

  it('needs an address', () => {
    expect(() => searxngSearch.create({}, { documents: null as never, collection: null })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
