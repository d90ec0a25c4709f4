import { assertNever, QuaestorError, type ErrorResult, type PageMatch, type SearchHit, type ToolResult } from '#contracts';
import { stripControlCharacters, truncateChars } from '../text/sanitize.ts';
import { oneLine } from './one-line.ts';
import { withoutTemplateTokens } from './template-tokens.ts';

/** Recorded with every prompt that shows results, so that a replay renders as the original did. Rises with any change of the text below. */
export const RENDERER_VERSION = 1;

export const SNIPPETS_ARE_LEADS = 'Snippets are leads, not evidence: read a page before you rely on it.';
const FRAME = '---';
const TITLE_CHARS_MAX = 300;

type HitsResult = Extract<ToolResult, { kind: 'hits' }>;
type PageResult = Extract<ToolResult, { kind: 'page' }>;
type MatchesResult = Extract<ToolResult, { kind: 'matches' }>;

/**
 * The text a model reads for a result. Pure. A `page` result needs `pageText`, its slice of the stored text (`pageSlice`), and throws
 * `JOURNAL_INVALID` without it; other kinds ignore it.
 *
 * Web text cannot forge the frame: every field of it stands on one line, and a page body is announced by its length (`Chars:`, UTF-16
 * units), so that a reader takes exactly that many characters and never searches for the closing `---`. Hidden characters go, and
 * chat-template tokens become plain words.
 */
export function renderResult(result: ToolResult, pageText?: string): string {
  switch (result.kind) {
    case 'text':
    case 'delegation':
      return plain(result.text);
    case 'hits':
      return renderHits(result);
    case 'page':
      return renderPage(result, pageText);
    case 'matches':
      return renderMatches(result);
    case 'error':
      return renderError(result);
    default:
      return assertNever(result);
  }
}

function renderHits({ query, provider, hits, degraded }: HitsResult): string {
  const note = degraded === undefined ? '' : line(degraded);
  if (hits.length === 0) return `No results for "${line(query)}".${note === '' ? '' : ` The search was incomplete: ${note}`}`;
  const blocks = [`Search results for "${line(query)}" (${provider}):`, ...hits.map(renderHit), SNIPPETS_ARE_LEADS];
  if (note !== '') blocks.push(`The search was incomplete: ${note}`);
  return blocks.join('\n\n');
}

const renderHit = ({ url, title, snippet }: SearchHit, index: number): string =>
  `[${index + 1}] ${shortTitle(title)}\nURL: ${line(url)}\n${line(snippet)}`;

function renderPage({ sourceId, url, title, page, pages }: PageResult, pageText: string | undefined): string {
  if (pageText === undefined) throw new QuaestorError('JOURNAL_INVALID', `The stored text of ${sourceId} is missing.`);
  const head = `Title: ${shortTitle(title)}\nURL: ${line(url)}\nPage: ${page} of ${pages} (pages 0 to ${pages - 1})`;
  const hint = page + 1 < pages ? `More: scroll_web_page with page ${page + 1}, or search_web_page.` : 'End of document.';
  return pageFrame(head, plain(pageText), hint);
}

/** A page as a model reads it: its head, its text announced by its length, and what can be done next. */
export const pageFrame = (head: string, body: string, hint: string): string => `${head}\nChars: ${body.length}\n${FRAME}\n${body}\n${FRAME}\n${hint}`;

const PAGE_HEAD = /^(Title: .*\nURL: .*\nPage: (\d+) of .*)\nChars: (\d+)\n---\n/;

/** The parts of a rendered page, or null for any other text. */
export function readPageFrame(rendered: string): { head: string; page: number; body: string } | null {
  const match = PAGE_HEAD.exec(rendered);
  if (!match) return null;
  const [opening, head = '', page, chars] = match;
  return { head, page: Number(page), body: rendered.slice(opening.length, opening.length + Number(chars)) };
}

function renderMatches({ url, query, matches }: MatchesResult): string {
  const lines = matches.length === 0 ? 'No match.' : matches.map(renderMatch).join('\n');
  return `URL: ${line(url)}\nQuery: ${line(query)}\n${lines}`;
}

const renderMatch = ({ page, text }: PageMatch): string => `[page ${page}] ${line(text)}`;

function renderError({ code, message, findings }: ErrorResult): string {
  const promoted = findings === undefined || findings === 0 ? '' : ` Findings it left on the scratchpad: ${findings}.`;
  return `ERROR ${code}: ${line(message)}${promoted}`;
}

const shortTitle = (title: string): string => truncateChars(line(title) || '(untitled)', TITLE_CHARS_MAX);

const line = (text: string): string => withoutTemplateTokens(oneLine(text));

const plain = (text: string): string => withoutTemplateTokens(stripControlCharacters(text));
