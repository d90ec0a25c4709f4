import type { CitationLedger } from './citation-ledger.ts';
import { UNVERIFIED_MARK } from './rewrite-links.ts';

export const QUOTE_NOT_FOUND_MARK = ' (quote not found in source)';
/** Shorter quotes are words, not evidence. */
export const QUOTE_CHARS_MIN = 20;

const QUOTED = /“([^“”]*)”|(?<![\p{L}\p{N}"])"(?=\S)([^"]*)"|«([^«»]*)»|„([^„“”]*)[“”]/gu;
const CODE = /(`+)[^`]+\1/g;
const CITATION = / ?\[\d+\]/g;
const ATTRIBUTION = /^\s*(?:[—–―-]+\s|\(?(?:source|from|via)\b)/i;

/**
 * Looks up the quotes of one block in the sources it cites, and marks those that stand in none. In a block quote that holds no quotation
 * marks the whole text is the quote. A block that cites nothing is left as it is.
 */
export function markQuotes(text: string, isBlockQuote: boolean, cited: readonly number[], ledger: CitationLedger): string {
  if (cited.length === 0) return text;
  const spans = quotedSpans(text);
  if (isBlockQuote && spans.length === 0) return markBlockQuote(text, cited, ledger);
  let marked = '';
  let from = 0;
  for (const { quote, end } of spans) {
    marked += text.slice(from, end) + (isHeld(quote, cited, ledger) ? '' : QUOTE_NOT_FOUND_MARK);
    from = end;
  }
  return marked + text.slice(from);
}

function quotedSpans(text: string): { quote: string; end: number }[] {
  const masked = text.replace(CODE, (code) => '\u0000'.repeat(code.length));
  return [...masked.matchAll(QUOTED)].flatMap((match) => {
    const inner = text.slice(match.index + 1, match.index + match[0].length - 1);
    return inner.trim().length < QUOTE_CHARS_MIN ? [] : [{ quote: inner, end: match.index + match[0].length }];
  });
}

function markBlockQuote(text: string, cited: readonly number[], ledger: CitationLedger): string {
  const lines = text.split('\n');
  const said = lines.map((line) => line.replace(/^\s*(?:>\s?)+/, ''));
  const end = said.findIndex((line, index) => index > 0 && ATTRIBUTION.test(line));
  const quoteLines = end === -1 ? lines.length : end;
  const paragraphs = said.slice(0, quoteLines).join('\n').split(/\n\s*\n/);
  const isEveryHeld = paragraphs.every((paragraph) => paragraph.trim().length < QUOTE_CHARS_MIN || isHeld(paragraph, cited, ledger));
  if (isEveryHeld) return text;
  lines[quoteLines - 1] += QUOTE_NOT_FOUND_MARK;
  return lines.join('\n');
}

// The name of a source may end a quote ("... salt. Ocean facts [1]"): the words before it are then the quote.
function isHeld(quote: string, cited: readonly number[], ledger: CitationLedger): boolean {
  const plain = quote.replaceAll(UNVERIFIED_MARK, '').replace(CITATION, '').replaceAll('&lt;', '<');
  return ledger.recordQuote(plain, cited) || ledger.recordQuote(withoutLastSentence(quote), cited);
}

function withoutLastSentence(quote: string): string {
  if (!/\[\d+\][\s.)]*$/.test(quote)) return '';
  const cut = quote.search(/(?:[.!?…]["'”’)]?\s|\s[—–―-]+\s)[^.!?]*\[\d+\][\s.)]*$/);
  return cut < QUOTE_CHARS_MIN ? '' : quote.slice(0, cut);
}
