import { sentences, type Sentence } from './sentences.ts';
import { rowCells } from './row-quote.ts';
import { termCounts, terms } from './terms.ts';

export interface AnswerDocument {
  title: string;
  /** Markdown. */
  text: string;
}

const ENDS_ASKING = /[?？][*_"”’)\]]{0,4}$/u;
const RUN_IN_HEADING = /^(\*\*|__)(?:(?!\1).)+\1$/;

/** A sentence that may be an answer, with the words around it. */
export interface Candidate {
  document: number;
  sentence: Sentence;
  counts: ReadonlyMap<string, number>;
  length: number;
  heading: ReadonlySet<string>;
  title: ReadonlySet<string>;
  /** Terms of the sentence before and of the same block so far. */
  previous: ReadonlySet<string>;
  /** The sentence before, when it stands in the same block. */
  lead: Sentence | null;
  wholeDocument: ReadonlySet<string>;
  /** Terms of the title, the heading and the sentence right above, when that one is a heading or a question or introduces it; else null. */
  askedAbove: ReadonlySet<string> | null;
  /** Terms of that sentence right above alone; empty when there is none. */
  asking: ReadonlySet<string>;
  /** Terms of each header cell above a table row; empty for anything else. */
  columns: readonly ReadonlySet<string>[];
}

interface Previous {
  sentence: Sentence;
  terms: ReadonlySet<string>;
  /** Terms of its block up to and with it. */
  block: ReadonlySet<string>;
}

/** All sentences of a document but headings, header rows and questions. */
export function readCandidates({ title, text }: AnswerDocument, document: number): Candidate[] {
  const titleTerms = new Set(terms(title));
  const wholeDocument = new Set<string>();
  const found: Candidate[] = [];
  let heading: ReadonlySet<string> = new Set();
  let columns: readonly ReadonlySet<string>[] = [];
  let previous = null as Previous | null;
  for (const sentence of sentences(text)) {
    const counts = termCounts(sentence.text);
    const own = new Set(counts.keys());
    for (const term of own) wholeDocument.add(term);
    const isRow = sentence.kind === 'table-row';
    const lead = previous?.sentence.block === sentence.block ? previous.sentence : null;
    const isHeaderRow = isRow && previous?.sentence.kind !== 'table-row';
    if (isHeaderRow) columns = rowCells(sentence.text).map((cell) => new Set(terms(cell.text)));
    if (sentence.kind === 'heading') heading = own;
    else if (!isHeaderRow && !ENDS_ASKING.test(sentence.text)) {
      found.push({
        document,
        sentence,
        counts,
        length: sumOf(counts),
        heading: isRow ? new Set([...heading, ...columns.flatMap((column) => [...column])]) : heading,
        title: titleTerms,
        previous: isRow || sentence.kind === 'field' ? new Set() : (previous?.block ?? new Set()),
        lead,
        wholeDocument,
        ...termsAbove(previous, heading, titleTerms),
        columns: isRow ? columns : [],
      });
    }
    previous = { sentence, terms: own, block: lead === null ? own : new Set([...(previous?.block ?? []), ...own]) };
  }
  return found;
}

function termsAbove(previous: Previous | null, heading: ReadonlySet<string>, title: ReadonlySet<string>): Pick<Candidate, 'asking' | 'askedAbove'> {
  if (previous === null || !asks(previous.sentence)) return { asking: new Set(), askedAbove: null };
  return { asking: previous.terms, askedAbove: new Set([...previous.terms, ...heading, ...title]) };
}

function asks({ kind, text }: Sentence): boolean {
  return kind === 'heading' || introduces(text) || ENDS_ASKING.test(text);
}

/** True for a sentence that promises what comes next: it ends in a colon, or stands in bold as a whole, as a heading within its paragraph. */
export function introduces(text: string): boolean {
  return text.endsWith(':') || RUN_IN_HEADING.test(text);
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}
