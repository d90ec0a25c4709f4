export interface AnswerSentence {
  /** Position in the list of documents. */
  document: number;
  /** A piece of the document, word for word: white space collapsed, link addresses, images and tags left out. */
  quote: string;
  score: number;
  /** Share of the question's weight that the sentence and its context hold, 0 to 1. */
  coverage: number;
}

export interface ScoredAnswer extends AnswerSentence {
  /** Terms of the question that the sentence itself holds. */
  held: readonly string[];
}

const PER_DOCUMENT_MAX = 3;
/** An answer this far below the best one is left out. */
const SCORE_MIN = 0.65;
/** A further answer that holds this much less of the question than the best one is beside the point. */
const COVERAGE_MIN = 0.75;
/** From here on an answer is as good as the best one, even if it adds no word of the question. */
const EQUAL_SCORE_MIN = 0.8;
const EQUAL_COVERAGE_MIN = 0.95;

/**
 * The answers worth quoting, of a list sorted best first. After the best one an answer has to be as good, or to add a word of the question, or to
 * be the first of its document, which makes it a second witness; and it has to be no repeat.
 */
export function selectAnswers(sorted: readonly ScoredAnswer[], answersMax: number): AnswerSentence[] {
  const picked: ScoredAnswer[] = [];
  for (const answer of sorted) {
    if (picked.length >= answersMax) break;
    if (isWorthQuoting(answer, picked)) picked.push(answer);
  }
  return picked.map(({ document, quote, score, coverage }) => ({ document, quote, score, coverage }));
}

function isWorthQuoting(answer: ScoredAnswer, picked: readonly ScoredAnswer[]): boolean {
  const best = picked[0];
  if (best === undefined) return true;
  if (answer.score < best.score * SCORE_MIN || answer.coverage < best.coverage * COVERAGE_MIN) return false;
  const neighbours = picked.filter(({ document }) => document === answer.document);
  if (neighbours.length >= PER_DOCUMENT_MAX || neighbours.some((other) => other.quote.includes(answer.quote) || answer.quote.includes(other.quote))) return false;
  const isEqual = answer.score >= best.score * EQUAL_SCORE_MIN && answer.coverage >= best.coverage * EQUAL_COVERAGE_MIN;
  return isEqual || neighbours.length === 0 || addsTerm(answer, picked);
}

function addsTerm({ held }: ScoredAnswer, picked: readonly ScoredAnswer[]): boolean {
  return held.some((term) => picked.every((other) => !other.held.includes(term)));
}
