import type { Socket } from 'node:net';
import { sendBytes, sendJson } from './http-answers.ts';
import { fixturePages, PAGE_COUNT } from './pages.ts';
import { factOf } from './script.ts';
import { words } from './words.ts';
import type { RequestLog } from './request-log.ts';
import type { RunRecords } from './run-records.ts';

const HITS = 10;
const SNIPPET_WORDS = 35;

/** True when the address belonged to the fixture web and was answered. */
export function answerWebRequest(socket: Socket, url: URL, records: RunRecords, log: RequestLog | null): boolean {
  const isSearch = url.pathname === '/search';
  if (!isSearch && !url.pathname.startsWith('/page/')) return false;
  const query = url.searchParams.get('q') ?? '';
  const runId = /\brun\.([A-Za-z0-9_-]+)/.exec(query)?.[1] ?? url.searchParams.get('run') ?? 'none';
  const interval = records.open(runId);
  log?.web(runId, isSearch ? query : url.href);
  interval.record.webRequests++;
  interval.record.webBytesOut += isSearch ? sendHits(socket, url, query, runId) : sendPage(socket, url);
  interval.close();
  return true;
}

/** Hits in the JSON form of SearXNG. A query that names `slot N` finds that row of pages, so that scripts can read what they found. */
function sendHits(socket: Socket, url: URL, query: string, runId: string): number {
  const slot = Number(/\bslot (\d+)\b/.exec(query)?.[1] ?? hashOf(query) % PAGE_COUNT);
  const results = Array.from({ length: HITS }, (_, i) => ({
    title: fixturePages()[pageIndex(slot, i + 1)]!.title,
    url: `${url.origin}/page/${slot}/${i + 1}?run=${runId}`,
    content: words(SNIPPET_WORDS, slot * 31 + i),
    engine: 'fixture',
    score: 1 / (i + 1),
    category: 'general',
  }));
  const body = Buffer.from(JSON.stringify({ query, number_of_results: results.length, results, answers: [], corrections: [], infoboxes: [], suggestions: [], unresponsive_engines: [] }));
  sendBytes(socket, body, 'application/json');
  return body.length;
}

/** `/page/SLOT/STEP` is HTML, `.div` the same without the marks of an article, `.fact` one with a value of its own, `.txt` without any markup; any further segment or word is not found. */
function sendPage(socket: Socket, url: URL): number {
  const match = /^\/page\/(\d+)\/(\d+)(\.txt|\.div|\.fact)?$/.exec(url.pathname);
  if (match === null) {
    sendJson(socket, { error: 'no such page' }, 404);
    return 0;
  }
  const page = fixturePages()[pageIndex(Number(match[1]), Number(match[2]))]!;
  const isText = match[3] === '.txt';
  const body = isText ? page.text : match[3] === '.div' ? withoutArticle(page.html) : match[3] === '.fact' ? withFact(page.html, Number(match[1]), Number(match[2])) : page.html;
  sendBytes(socket, body, isText ? 'text/plain; charset=utf-8' : 'text/html; charset=utf-8');
  return body.length;
}

/** Nothing says any more what its main content is: a reader has to find out. */
const withoutArticle = (html: Buffer): Buffer => Buffer.from(html.toString().replace(/<(\/?)(?:main|article)>/g, '<$1div>'));

/** One sentence in the middle of the second section, which nothing but this page holds. */
const withFact = (html: Buffer, slot: number, step: number): Buffer => Buffer.from(html.toString().replace(/(<\/section>\n<section[^]*?<\/p>)/, `$1<p class="paragraph">${factOf(slot, step)}</p>`));

const pageIndex = (slot: number, step: number): number => (slot * 7 + step) % PAGE_COUNT;

function hashOf(text: string): number {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) >>> 0;
  return hash;
}
