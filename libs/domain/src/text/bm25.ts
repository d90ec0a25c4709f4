import { termCounts, terms } from './terms.ts';

/** How fast repeats of a term stop counting. */
const SATURATION = 1.2;
/** How much a long passage is discounted: 0 is not at all, 1 is fully. */
const LENGTH_DISCOUNT = 0.75;

export interface TermPosting {
  /** Occurrences of the term in this document. */
  occurrences: number;
  /** Terms of this document, repeats included. */
  length: number;
  /** Documents of the corpus that hold the term. */
  documentFrequency: number;
}

export interface CorpusShape {
  documents: number;
  averageLength: number;
}

/** Rarity of a term; positive even for a term that every document holds. */
export function inverseDocumentFrequency(documentFrequency: number, documents: number): number {
  return Math.log(1 + (documents - documentFrequency + 0.5) / (documentFrequency + 0.5));
}

/** BM25 share of one term in one document; a document's score is the sum over the query's distinct terms. */
export function bm25TermScore(posting: TermPosting, corpus: CorpusShape): number {
  if (posting.occurrences <= 0) return 0;
  const relativeLength = corpus.averageLength > 0 ? posting.length / corpus.averageLength : 1;
  const damping = SATURATION * (1 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * relativeLength);
  const frequency = (posting.occurrences * (SATURATION + 1)) / (posting.occurrences + damping);
  return inverseDocumentFrequency(posting.documentFrequency, corpus.documents) * frequency;
}

export interface RankedPassage {
  index: number;
  score: number;
}

/** Passages that share a term with the query, best first; equal scores keep their order. */
export function rankPassages(query: string, passages: readonly string[]): RankedPassage[] {
  const wanted = new Set(terms(query));
  if (wanted.size === 0) return [];
  const counts = passages.map(termCounts);
  const lengths = counts.map(sum);
  const frequencies = documentFrequencies(wanted, counts);
  const corpus = { documents: passages.length, averageLength: lengths.reduce((total, length) => total + length, 0) / passages.length };
  const ranked: RankedPassage[] = [];
  counts.forEach((passage, index) => {
    let score = 0;
    for (const [term, documentFrequency] of frequencies) {
      score += bm25TermScore({ occurrences: passage.get(term) ?? 0, length: lengths[index] ?? 0, documentFrequency }, corpus);
    }
    if (score > 0) ranked.push({ index, score });
  });
  return ranked.sort((left, right) => right.score - left.score || left.index - right.index);
}

function sum(counts: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}

function documentFrequencies(wanted: ReadonlySet<string>, passages: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const frequencies = new Map<string, number>();
  for (const term of wanted) {
    const holders = passages.reduce((total, passage) => total + (passage.has(term) ? 1 : 0), 0);
    if (holders > 0) frequencies.set(term, holders);
  }
  return frequencies;
}
