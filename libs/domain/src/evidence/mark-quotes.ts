import type { CitationLedger } from './citation-ledger.ts';
import { UNVERIFIED_MARK, type RewrittenText } from './rewrite-links.ts';

export const QUOTE_NOT_FOUND_MARK = ' (quote not found in source)';
/** Shorter quotes are words, not evidence. */
export const QUOTE_CHARS_MIN = 20;

const QUOTED = /“([^“”]*)”|(?<![\p{L}\p{N}"])"(?=\S)([^"]*)"|«([^«»]*)»|„([^„“”]*)[“”]/gu;
const CODE = /(`+)[^`]+\1/g;
const CITATION = / ?\[\d+\]/g;
const LABELLED = /\[\d+\]|\(unverified/;
const ATTRIBUTION = /^\s*(?:[—–―-]+\s|\(?(?:source|from|via)\b)/i;

/**
 * Looks up the quotes of one block in the sources it cites, and marks those that stand in none. In a block quote that holds no quotation
 * marks the whole text is the quote. A block that cites nothing is left as it is.
 */
export function markQuotes(block: Readonly<RewrittenText>, isBlockQuote: boolean, ledger: CitationLedger): string {
  const { text, cited } = block;
  if (cited.length === 0) return text;
  const spans = quotedSpans(text);
  if (isBlockQuote && spans.length === 0) return markBlockQuote(block, ledger);
  let marked = '';
  let from = 0;
  for (const { quote, end } of spans) {
    marked += text.slice(from, end) + (isHeld(quote, block, ledger) ? '' : QUOTE_NOT_FOUND_MARK);
    from = end;
  }
  return marked + text.slice(from);
}

function quotedSpans(text: string): { quote: string; end: number }[] {
  const masked = text.replace(CODE, (code) => '\u0000'.repeat(code.length));
  return [...masked.matchAll(QUOTED)].flatMap((match) => {
    const inner = text.slice(match.index + 1, match.index + match[0].length - 1);
    return isEvidence(inner) ? [{ quote: inner, end: match.index + match[0].length }] : [];
  });
}

const isEvidence = (quote: string): boolean => quote.trim().length >= QUOTE_CHARS_MIN;

function markBlockQuote(block: Readonly<RewrittenText>, ledger: CitationLedger): string {
  const lines = block.text.split('\n');
  const said = lines.map((line) => line.replace(/^\s*(?:>\s?)+/, ''));
  const attribution = said.findIndex((line, index) => index > 0 && ATTRIBUTION.test(line));
  const quoteLines = attribution === -1 ? lines.length : attribution;
  const paragraphs = said.slice(0, quoteLines).join('\n').split(/\n\s*\n/);
  // A paragraph that only names its source is no quote, unless the block says nothing else.
  const quotes = paragraphs.filter((paragraph) => isEvidence(withoutLabels(paragraph, block)));
  const isEveryHeld = (quotes.length > 0 ? quotes : paragraphs.filter(isEvidence)).every((quote) => isHeld(quote, block, ledger));
  if (isEveryHeld) return block.text;
  lines[quoteLines - 1] += QUOTE_NOT_FOUND_MARK;
  return lines.join('\n');
}

// The name of a source may stand within a quote, or be the quote.
function isHeld(quote: string, block: Readonly<RewrittenText>, ledger: CitationLedger): boolean {
  return [quote, withoutLabels(quote, block)].some((candidate) => ledger.recordQuote(plainQuote(candidate), block.cited));
}

function withoutLabels(quote: string, { labels }: Readonly<RewrittenText>): string {
  return LABELLED.test(quote) ? labels.reduce((rest, label) => rest.replace(label, ''), quote) : quote;
}

const plainQuote = (quote: string): string => quote.replaceAll(UNVERIFIED_MARK, '').replace(CITATION, '').replaceAll('&lt;', '<');
