import { TOOL_URL_CHARS_MAX } from '#contracts';
import { findAnswers, questionTerms, rankPassages, type AnswerSentence } from '#domain';
import { citedQuote, renderNote, type Finding } from './finding.ts';
import { groupBy } from './group-by.ts';
import { readHits, readMatchPages, readPage, searchGap, type Exchange, type Hit, type History, type ReadPage } from './read-history.ts';
import { answer, callTools, type Step, type StepCall } from './step.ts';
import { otherQuery, readTask, searchQuery, type Task } from './task.ts';

const PAGES_PER_TURN_MAX = 3;
const ANSWERS_MAX = 4;
const SEARCHES_MAX = 2;
/** An answer that holds this much of the question is not worth a further look into the same page. */
const STRONG_COVERAGE = 0.8;
/** From this turn on only promoting and answering are left, whatever the pages may still hold. */
const LAST_RESEARCH_TURN = 5;

interface Reading {
  task: Task;
  hits: Hit[];
  pages: ReadPage[];
  findings: Finding[];
  /** How much of the question the best finding holds. */
  coverage: number;
}

/** The next step of a worker. Ends within eight turns: two searches, one reading, one look inside, one scroll, the notes, the answer. */
export function workerStep(history: History): Step {
  const reading = readSoFar(history);
  if (questionTerms(reading.task.question).length === 0) return answer('No answer: the task holds no words to search for.');
  const canResearch = history.turns < LAST_RESEARCH_TURN;
  const research = canResearch ? (search(history, reading) ?? open(history, reading) ?? lookInside(history, reading) ?? scroll(history, reading)) : null;
  return research ?? promote(history, reading) ?? answer(closing(history, reading));
}

function readSoFar(history: History): Reading {
  const task = readTask(history.question);
  const pages = history.exchanges.flatMap(pageOf);
  const documents = joinPages(pages);
  const answers = findAnswers(task.question, documents, ANSWERS_MAX);
  return {
    task,
    hits: succeeded(history, 'perform_web_search').flatMap(({ content }) => readHits(content)),
    pages,
    findings: answers.flatMap((found) => findingOf(found, documents, task.question)),
    coverage: answers.reduce((best, { coverage }) => Math.max(best, coverage), 0),
  };
}

function pageOf({ name, content, isError }: Exchange): ReadPage[] {
  const page = isError || (name !== 'read_web_page' && name !== 'scroll_web_page') ? null : readPage(content);
  return page === null ? [] : [page];
}

/** Neighbouring pages of one source are one text, so that a sentence across their border is whole. */
function joinPages(pages: readonly ReadPage[]): ReadPage[] {
  const joined: ReadPage[] = [];
  const last = new Map<string, { document: ReadPage; page: number }>();
  const order = [...pages].sort((left, right) => left.page - right.page);
  for (const page of order) {
    const before = last.get(page.url);
    if (before !== undefined && before.page === page.page) continue;
    if (before !== undefined && before.page + 1 === page.page) {
      before.document.text += page.text;
      before.page = page.page;
    } else {
      const document = { ...page, text: page.page === 0 ? page.text : withoutOpenFence(page.text) };
      joined.push(document);
      last.set(page.url, { document, page: page.page });
    }
  }
  return joined;
}

/** A page may start inside a code fence: then its first fence line closes, which shows when the next one opens with a language. */
function withoutOpenFence(text: string): string {
  const [first, second] = text.matchAll(/^ {0,3}(?:`{3,}|~{3,})[ \t]*(\S*).*$/gm);
  const isClosing = first?.[1] === '' && second?.[1] !== undefined && second[1] !== '';
  return isClosing ? text.slice(first.index + first[0].length) : text;
}

function findingOf({ document, quote }: AnswerSentence, documents: readonly ReadPage[], question: string): Finding[] {
  const source = documents[document];
  return source === undefined ? [] : [{ question, quote, title: source.title, url: source.url }];
}

function search(history: History, { task, hits, findings }: Reading): Step | null {
  const done = calls(history, 'perform_web_search').length;
  if (!history.tools.has('perform_web_search') || done >= SEARCHES_MAX) return null;
  if (done === 0) {
    const notes = history.tools.has('read_scratchpad') ? [{ name: 'read_scratchpad', arguments: {} }] : [];
    return callTools([{ name: 'perform_web_search', arguments: { query: searchQuery(task) } }, ...notes]);
  }
  const query = hits.length > 0 || findings.length > 0 ? null : otherQuery(task);
  return query === null ? null : callTools([{ name: 'perform_web_search', arguments: { query } }]);
}

/** Opens the best hits, once. */
function open(history: History, { task, hits }: Reading): Step | null {
  if (!history.tools.has('read_web_page') || calls(history, 'read_web_page').length > 0) return null;
  const urls = [...new Set(bestHits(task.question, hits).map(({ url }) => url))].filter((url) => url.length <= TOOL_URL_CHARS_MAX);
  return callsOrNull(urls.slice(0, PAGES_PER_TURN_MAX).map((url) => ({ name: 'read_web_page', arguments: { url } })));
}

/** Hits by their own words first, then in the engine's order: a snippet may miss what the page holds. */
function bestHits(question: string, hits: readonly Hit[]): Hit[] {
  const ranked = rankPassages(question, hits.map(({ title, snippet }) => `${title} ${title} ${snippet}`));
  const inOrder = [...ranked.map(({ index }) => index), ...hits.keys()];
  return [...new Set(inOrder)].flatMap((index) => hits[index] ?? []);
}

/** Looks for the rarest words of the task in the parts of long pages that have not been read. */
function lookInside(history: History, { task, pages, coverage }: Reading): Step | null {
  if (!history.tools.has('search_web_page') || coverage >= STRONG_COVERAGE || calls(history, 'search_web_page').length > 0) return null;
  const long = pages.filter(({ pages: count }) => count > 1).slice(0, PAGES_PER_TURN_MAX);
  return callsOrNull(long.flatMap((page) => insideQueries(task.question, page.text).map((query) => ({ name: 'search_web_page', arguments: { url: page.url, query } }))));
}

/** Words of the question that the first part of the page lacks come first: they are what is still to be found. */
function insideQueries(question: string, text: string): string[] {
  const lower = text.toLowerCase();
  const words = distinctiveWords(question);
  const missing = words.filter((word) => !lower.includes(word.toLowerCase()));
  return [...new Set([...missing, ...words])].slice(0, 2);
}

function distinctiveWords(question: string): string[] {
  const words = question.match(/[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}.'’-]*/gu) ?? [];
  const named = words.filter((word) => questionTerms(word).length > 0).map((word) => word.replace(/[.'’-]+$/, ''));
  return [...new Set(named)].sort((left, right) => right.length - left.length);
}

function scroll(history: History, { pages, coverage }: Reading): Step | null {
  if (!history.tools.has('scroll_web_page') || coverage >= STRONG_COVERAGE || calls(history, 'scroll_web_page').length > 0) return null;
  const seen = new Set(pages.map(({ url, page }) => `${page} ${url}`));
  const wanted = new Map<string, StepCall>();
  for (const page of pages.filter(({ pages: count }) => count > 1)) {
    for (const number of [...matchPages(history, page.url), page.page + 1]) {
      const key = `${number} ${page.url}`;
      if (number < page.pages && !seen.has(key)) wanted.set(key, { name: 'scroll_web_page', arguments: { url: page.url, page: number } });
    }
  }
  return callsOrNull([...wanted.values()].slice(0, PAGES_PER_TURN_MAX));
}

function matchPages(history: History, url: string): number[] {
  return succeeded(history, 'search_web_page')
    .filter((exchange) => exchange.arguments.url === url)
    .flatMap(({ content }) => readMatchPages(content));
}

/** One note for each source, once. */
function promote(history: History, { task, findings }: Reading): Step | null {
  if (!history.tools.has('append_scratchpad') || calls(history, 'append_scratchpad').length > 0) return null;
  const bySource = groupBy(findings, ({ url }) => url);
  return callsOrNull([...bySource.values()].map((found) => ({ name: 'append_scratchpad', arguments: { note: renderNote(task.question, found) } })));
}

/** One line with the best quote; a failure is told as a failure, never as an absence. */
function closing(history: History, { task, hits, pages, findings }: Reading): string {
  const best = findings[0];
  if (best !== undefined) {
    const isKept = succeeded(history, 'append_scratchpad').length > 0;
    if (isKept) return `Found ${findings.length}, best first: ${citedQuote(best)}`;
    return renderNotes(task.question, findings);
  }
  const failure = history.exchanges.find(({ name, isError }) => isError && (name === 'perform_web_search' || name === 'read_web_page'));
  if (failure !== undefined && (hits.length === 0 || pages.length === 0)) return `Not examined: ${failure.content.replace(/^ERROR [A-Z_]+: /, '').replace(/\s+/g, ' ').slice(0, 300)}`;
  if (calls(history, 'perform_web_search').length === 0) return 'Not examined: no search was made.';
  const gap = succeeded(history, 'perform_web_search').map(({ content }) => searchGap(content)).find((text) => text !== null);
  const doubt = gap === undefined ? '' : ` The search was incomplete: ${gap}`;
  return `No answer: the documents hold no answer to "${task.question}".${doubt}`;
}

function renderNotes(question: string, findings: readonly Finding[]): string {
  return [...groupBy(findings, ({ url }) => url).values()].map((found) => renderNote(question, found)).join('\n\n');
}

function calls(history: History, name: string): Exchange[] {
  return history.exchanges.filter((exchange) => exchange.name === name);
}

function succeeded(history: History, name: string): Exchange[] {
  return calls(history, name).filter(({ isError }) => !isError);
}

function callsOrNull(list: readonly StepCall[]): Step | null {
  return list.length === 0 ? null : callTools(list);
}
