import { markdownBlocks, type BlockKind, type MarkdownBlock } from './markdown-blocks.ts';

/** `text` is `source.slice(start, end)`, character for character; line breaks of a wrapped paragraph are still in it. */
export interface Sentence {
  text: string;
  start: number;
  end: number;
  /** What the sentence stands in; a heading, a table row, a code line and a `Name: value` line are each one sentence. */
  kind: BlockKind;
  /** Number of the block it stands in; sentences of one paragraph or list item share it. */
  block: number;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const ABBREVIATION =
  /(?:^|[\s(["'“‘])(?:\p{Lu}|(?:\p{L}\.)+\p{L}|mr|mrs|ms|dr|prof|st|sr|jr|rev|hon|gen|col|sgt|lt|capt|gov|sen|rep|vs|cf|approx|ca|fig|figs|eq|sec|ch|vol|vols|pp|ed|eds|al|dept|univ|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mt|ft|incl|excl|resp|viz)\.$/iu;
const NUMBER_ABBREVIATION = /(?:^|[\s(])(?:no|nos|art|p|para|max|min|approx|est)\.$/i;
const CLOSING_MARKS = /^[*_`"'”’)\]]+(?=\s|$)/;
const HAS_SUBSTANCE = /[\p{L}\p{N}]/u;

/**
 * Sentences of a Markdown text, in order. Never crosses a blank line, a list item, a heading or a table row; knows common
 * abbreviations; leaves out stretches without a letter or digit. Linear in the text, never throws.
 */
export function sentences(text: string): Sentence[] {
  return markdownBlocks(text).flatMap((block, index) => blockSentences(text, block, index));
}

function blockSentences(text: string, block: MarkdownBlock, index: number): Sentence[] {
  return ranges(text, block)
    .map(([start, end]) => trimmed(text, start, end, { kind: block.kind, block: index }))
    .filter((sentence) => HAS_SUBSTANCE.test(sentence.text));
}

function ranges(text: string, block: MarkdownBlock): [number, number][] {
  const whole: [number, number] = [block.start, block.end];
  if (block.kind === 'heading' || block.kind === 'table-row' || block.kind === 'code' || block.kind === 'field') return [whole];
  // The segmenter ends a sentence at every line break; a wrapped line is no end. Same length, so that positions stay right.
  const flat = text.slice(block.start, block.end).replace(/[\r\n\u2028\u2029]/g, ' ');
  return joinFragments(flat).map(([start, end]) => [block.start + start, block.start + end]);
}

function joinFragments(flat: string): [number, number][] {
  const joined: [number, number][] = [];
  for (const { segment, index } of segmenter.segment(flat)) {
    const last = joined.at(-1);
    const marks = last === undefined ? 0 : (CLOSING_MARKS.exec(segment)?.[0].length ?? 0);
    if (last === undefined) joined.push([index, index + segment.length]);
    else if (marks === 0 && endsEarly(flat.slice(Math.max(last[0], last[1] - 24), last[1]), segment)) last[1] = index + segment.length;
    else {
      last[1] += marks;
      if (marks < segment.length) joined.push([index + marks, index + segment.length]);
    }
  }
  return joined;
}

/** True when `tail` stops at an abbreviation or inside a word such as `./path`, and not at the end of a sentence. */
function endsEarly(tail: string, next: string): boolean {
  const trimmedTail = tail.trimEnd();
  if (/[.?!]$/.test(tail)) return true;
  return ABBREVIATION.test(trimmedTail) || (/^\s*\d/.test(next) && NUMBER_ABBREVIATION.test(trimmedTail));
}

function trimmed(text: string, start: number, end: number, place: Pick<Sentence, 'kind' | 'block'>): Sentence {
  const raw = text.slice(start, end);
  const from = start + (raw.length - raw.trimStart().length);
  const to = Math.max(from, start + raw.trimEnd().length);
  return { text: text.slice(from, to), start: from, end: to, ...place };
}
