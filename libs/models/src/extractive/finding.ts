import { truncateChars } from '#domain';

/** One promoted sentence with the page it stands on. */
export interface Finding {
  /** The sub-question it answers; null in a note that does not say. */
  question: string | null;
  quote: string;
  title: string;
  url: string;
}

const TITLE_CHARS_MAX = 120;
/** A bare address would count as a citation of its own. */
const ADDRESS = /(?:https?:\/\/|www\.|\bdoc:)\S+/gi;
const OPENING = 'FINDING for: ';

/** `"quote" [title](url)`: the form in which a finding stands in notes, worker answers and reports. */
export function citedQuote(finding: Finding): string {
  return `${quoted(finding.quote)} ${citation(finding)}`;
}

export function citation({ title, url }: Pick<Finding, 'title' | 'url'>): string {
  return `[${linkText(title, url)}](${url})`;
}

/** The note of one source: its question, each quote on its own line, the page. */
export function renderNote(question: string, findings: readonly Finding[]): string {
  const source = findings[0];
  if (source === undefined) return '';
  const quotes = findings.map(({ quote }) => `> ${quoted(quote)}`);
  return [`${OPENING}${oneLine(question)}`, ...quotes, `Source: ${citation(source)}`].join('\n');
}

/**
 * Findings in a note or a worker's answer, also of another author: quote lines up to a line with a link belong to that link. Everything
 * a page wrote stands on a line of its own behind a quote mark, so it cannot pose as a source.
 */
export function readFindings(text: string): Finding[] {
  const findings: Finding[] = [];
  let question: string | null = null;
  let quotes: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith(OPENING)) {
      question = line.slice(OPENING.length).trim();
      quotes = [];
      continue;
    }
    const link = trailingLink(line);
    const stated = quoteIn(line, link === null);
    if (stated !== null) quotes.push(stated);
    if (link === null) continue;
    findings.push(...quotes.map((quote) => ({ question, quote, ...link })));
    quotes = [];
  }
  return findings;
}

/** A quote in straight marks, or in curly ones when it holds straight marks itself. */
function quoted(quote: string): string {
  return quote.includes('"') ? `“${quote}”` : `"${quote}"`;
}

/** A whole quote line may hold link-like text of a page; it is a quote and nothing else. */
function trailingLink(line: string): { title: string; url: string } | null {
  if (/^>\s*["“].*["”]$/.test(line)) return null;
  const end = line.trimEnd().replace(/[.)]$/, (mark) => (mark === '.' ? '' : mark));
  const open = end.lastIndexOf('](');
  const start = end.lastIndexOf('[', open);
  if (open === -1 || start === -1 || !end.endsWith(')')) return null;
  const url = end.slice(open + 2, -1);
  return /^\S+$/.test(url) ? { title: end.slice(start + 1, open), url } : null;
}

function quoteIn(line: string, isWholeLine: boolean): string | null {
  const body = isWholeLine ? (/^>\s*(.*)$/.exec(line)?.[1] ?? '') : line.slice(0, line.lastIndexOf('['));
  const open = body.search(/["“]/);
  if (open === -1) return isWholeLine && body.trim() !== '' ? body.trim() : null;
  const close = body.lastIndexOf(body[open] === '"' ? '"' : '”');
  return close > open + 1 ? body.slice(open + 1, close) : null;
}

/** Link text that can neither end its link early nor start another one. */
function linkText(title: string, url: string): string {
  const plain = oneLine(title.replace(ADDRESS, ' ').replace(/[[\]()<>!"“”`*_|\\]/g, ' '));
  return truncateChars(plain === '' ? url.replace(/[[\]]/g, '') : plain, TITLE_CHARS_MAX);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
