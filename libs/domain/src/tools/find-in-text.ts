import type { PageMatch } from '#contracts';
import { rankPassages } from '../text/bm25.ts';
import { pageOf } from './pages.ts';
import { codePointBoundary, oneLine } from './one-line.ts';

export interface FindOptions {
  pageChars: number;
  /** Characters shown on each side of a match. */
  contextChars: number;
  matchesMax: number;
}

interface Span {
  page: number;
  start: number;
  end: number;
}

/**
 * Where a phrase stands in a text: letter case is ignored and any white space matches any other. The first match of every page comes
 * before the second of any, at most `matchesMax` in all; the answer is in reading order. A match inside the context of the one before it is
 * not repeated. An empty or blank phrase matches nothing.
 */
export function findInText(text: string, phrase: string, options: FindOptions): PageMatch[] {
  const pattern = phrasePattern(phrase);
  if (pattern === null) return [];
  const spans = spreadOverPages(matchSpans(text, pattern, options), options.matchesMax);
  return spans.map(({ page, start, end }) => ({ page, text: snippetAt(text, start, end, options.contextChars) }));
}

/**
 * Passages that share words with a query, after stemming, best first, at most `matchesMax`. For when {@link findInText} finds nothing:
 * a model rarely knows the exact wording of a page.
 */
export function findRelated(text: string, query: string, { pageChars, contextChars, matchesMax }: FindOptions): PageMatch[] {
  const passages = [...text.matchAll(passagePattern(2 * contextChars))];
  const ranked = rankPassages(query, passages.map(([passage]) => passage)).slice(0, matchesMax);
  return ranked.flatMap(({ index }) => {
    const passage = passages[index];
    return passage === undefined ? [] : [{ page: pageOf(text, pageChars, passage.index), text: oneLine(passage[0]) }];
  });
}

// Stretches of a line that end between words where that is possible.
const passagePattern = (charsMax: number): RegExp => new RegExp(`\\S[^\\n]{0,${charsMax - 1}}(?!\\S)|\\S[^\\n]{0,${charsMax - 1}}`, 'gu');

/** One line around `[start, end)` with `contextChars` on each side; `…` stands where text was cut. */
export function snippetAt(text: string, start: number, end: number, contextChars: number): string {
  const from = codePointBoundary(text, Math.max(0, start - contextChars));
  const to = codePointBoundary(text, Math.min(text.length, end + contextChars));
  return `${from > 0 ? '…' : ''}${oneLine(text.slice(from, to))}${to < text.length ? '…' : ''}`;
}

function phrasePattern(phrase: string): RegExp | null {
  const words = phrase.trim().split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return null;
  return new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('\\s+'), 'giu');
}

function matchSpans(text: string, pattern: RegExp, { pageChars, contextChars }: FindOptions): Span[] {
  const spans: Span[] = [];
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const end = match.index + match[0].length;
    spans.push({ page: pageOf(text, pageChars, match.index), start: match.index, end });
    pattern.lastIndex = end + contextChars;
  }
  return spans;
}

function spreadOverPages(spans: Span[], matchesMax: number): Span[] {
  if (spans.length <= matchesMax) return spans;
  const seenOnPage = new Map<number, number>();
  const ranked = spans.map((span) => {
    const rank = seenOnPage.get(span.page) ?? 0;
    seenOnPage.set(span.page, rank + 1);
    return { span, rank };
  });
  ranked.sort((left, right) => left.rank - right.rank || left.span.start - right.span.start);
  return ranked
    .slice(0, matchesMax)
    .map(({ span }) => span)
    .sort((left, right) => left.start - right.start);
}
