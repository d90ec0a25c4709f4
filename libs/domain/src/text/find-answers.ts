import { readCandidates, type AnswerDocument, type Candidate } from './answer-candidates.ts';
import { answerShape, hasShape, type AnswerShape } from './answer-shape.ts';
import { bm25TermScore, inverseDocumentFrequency } from './bm25.ts';
import { questionTerms, type QuestionTerm } from './question-words.ts';
import { quotable, withLead } from './quotable.ts';
import { isCharacterPair } from './terms.ts';

export interface AnswerSentence {
  /** Position in the list of documents. */
  document: number;
  /** A piece of the document, word for word: white space collapsed, link addresses, images and tags left out. */
  quote: string;
  score: number;
  /** Share of the question's weight that the sentence and its context hold, 0 to 1. */
  coverage: number;
}

/** Share of the question that an answer must hold; below it a sentence shares words but not the subject. */
const COVERAGE_MIN = 0.5;
/** The same for scripts without spaces: most pairs of a question span two words or hold none that an answer repeats. */
const PAIR_COVERAGE_MIN = 0.18;
/** An answer this far below the best one is left out. */
const RELATIVE_SCORE_MIN = 0.65;
const PER_DOCUMENT_MAX = 3;

/** How much a term counts by where it stands. The sentence itself must hold at least one, or answer its heading directly. */
const WEIGHT = { own: 1, alternative: 0.8, heading: 0.75, title: 0.6, previous: 0.4, document: 0.25 } as const;
const NAME_WEIGHT = 1.5;
const SHAPE_BONUS = 1.3;
/** Code shows how, but rarely says what. */
const CODE_PENALTY = 0.5;
/** A sentence that ends in a colon promises what comes next. */
const INTRODUCTION_PENALTY = 0.6;
/** A heading or question that holds this much of what is asked is answered by the sentence right below it. */
const ASKED_ABOVE_MIN = 0.75;
const ASKED_ABOVE_BONUS = 1.5;

interface Scale {
  candidates: number;
  averageLength: number;
  frequencies: ReadonlyMap<string, number>;
}

/**
 * Sentences that answer a question, best first, at most `answersMax` and three of one document. Empty when no sentence with its heading,
 * title and neighbour holds half of what the question names: then the documents hold no answer. Deterministic, never throws.
 */
export function findAnswers(question: string, documents: readonly AnswerDocument[], answersMax: number): AnswerSentence[] {
  const wanted = questionTerms(question);
  if (wanted.length === 0) return [];
  const candidates = documents.flatMap((document, index) => readCandidates(document, index));
  const scale = measure(candidates, wanted);
  const coverageMin = wanted.every(({ term }) => isCharacterPair(term)) ? PAIR_COVERAGE_MIN : COVERAGE_MIN;
  const shape = answerShape(question);
  const scored = candidates
    .map((candidate) => judge(candidate, wanted, scale, { shape, question, coverageMin }))
    .filter((answer): answer is AnswerSentence => answer !== null)
    .sort((left, right) => right.score - left.score);
  return pick(scored, answersMax);
}

function measure(candidates: readonly Candidate[], wanted: readonly QuestionTerm[]): Scale {
  const frequencies = new Map<string, number>();
  for (const term of wanted.flatMap(({ term, alternatives }) => [term, ...alternatives])) {
    frequencies.set(term, candidates.reduce((total, { counts }) => total + (counts.has(term) ? 1 : 0), 0));
  }
  const total = candidates.reduce((length, candidate) => length + candidate.length, 0);
  return { candidates: candidates.length, averageLength: total / Math.max(1, candidates.length), frequencies };
}

function judge(
  candidate: Candidate,
  wanted: readonly QuestionTerm[],
  scale: Scale,
  asked: { shape: AnswerShape; question: string; coverageMin: number },
): AnswerSentence | null {
  const coverage = coverageOf(wanted, scale, (term) => presence(candidate, term));
  const isDirectAnswer = candidate.askedAbove !== null && coverageIn(candidate.askedAbove, wanted, scale) >= ASKED_ABOVE_MIN;
  const holdsOwn = wanted.some((term) => ownCount(candidate, term) > 0);
  if (coverage < asked.coverageMin || !(holdsOwn || isDirectAnswer)) return null;
  const ownCoverage = coverageIn(new Set(candidate.counts.keys()), wanted, scale);
  const quote = quotable(withLead(candidate.sentence, candidate.lead, ownCoverage < asked.coverageMin), candidate.sentence.kind, wanted);
  if (quote === null) return null;
  const base = wanted.reduce((total, term) => total + termScore(candidate, term, scale), 0);
  const shaped = hasShape(asked.shape, quote, asked.question) ? SHAPE_BONUS : 1;
  const score = base * shaped * (isDirectAnswer ? ASKED_ABOVE_BONUS : penaltyOf(candidate));
  return { document: candidate.document, quote, score, coverage };
}

function penaltyOf({ sentence }: Candidate): number {
  if (sentence.kind === 'code') return CODE_PENALTY;
  return sentence.text.endsWith(':') ? INTRODUCTION_PENALTY : 1;
}

function coverageIn(held: ReadonlySet<string>, wanted: readonly QuestionTerm[], scale: Scale): number {
  return coverageOf(wanted, scale, ({ term, alternatives }) => (held.has(term) || alternatives.some((other) => held.has(other)) ? 1 : 0));
}

function coverageOf(wanted: readonly QuestionTerm[], scale: Scale, share: (term: QuestionTerm) => number): number {
  let held = 0;
  let total = 0;
  for (const term of wanted) {
    const weight = importance(term, scale);
    held += weight * share(term);
    total += weight;
  }
  return total === 0 ? 0 : held / total;
}

/** 1 for a term that every sentence holds, up to 2 for one that none does; names count more. */
function importance({ term, isName }: QuestionTerm, { candidates, frequencies }: Scale): number {
  const rarity = inverseDocumentFrequency(frequencies.get(term) ?? 0, candidates) / inverseDocumentFrequency(0, Math.max(1, candidates));
  return (1 + Math.min(1, rarity)) * (isName ? NAME_WEIGHT : 1);
}

/** Where the term stands, as a share of a full match. */
function presence(candidate: Candidate, { term, alternatives, isName }: QuestionTerm): number {
  if (candidate.counts.has(term)) return WEIGHT.own;
  if (alternatives.some((other) => candidate.counts.has(other))) return WEIGHT.alternative;
  if (candidate.heading.has(term) || candidate.askedAbove?.has(term) === true) return WEIGHT.heading;
  if (candidate.title.has(term)) return WEIGHT.title;
  if (candidate.previous.has(term)) return WEIGHT.previous;
  return isName && candidate.wholeDocument.has(term) ? WEIGHT.document : 0;
}

function ownCount({ counts }: Candidate, { term, alternatives }: QuestionTerm): number {
  return counts.get(term) ?? alternatives.reduce((total, other) => total + (counts.get(other) ?? 0), 0);
}

function termScore(candidate: Candidate, wanted: QuestionTerm, scale: Scale): number {
  const share = presence(candidate, wanted);
  if (share === 0) return 0;
  const occurrences = Math.max(1, ownCount(candidate, wanted));
  const documentFrequency = scale.frequencies.get(wanted.term) ?? 0;
  const posting = { occurrences, length: candidate.length, documentFrequency };
  return share * bm25TermScore(posting, { documents: scale.candidates, averageLength: scale.averageLength });
}

function pick(scored: readonly AnswerSentence[], answersMax: number): AnswerSentence[] {
  const best = scored[0]?.score ?? 0;
  const perDocument = new Map<number, number>();
  const picked: AnswerSentence[] = [];
  for (const answer of scored) {
    const used = perDocument.get(answer.document) ?? 0;
    const isRepeat = picked.some((other) => other.document === answer.document && (other.quote.includes(answer.quote) || answer.quote.includes(other.quote)));
    if (picked.length >= answersMax || answer.score < best * RELATIVE_SCORE_MIN) break;
    if (used >= PER_DOCUMENT_MAX || isRepeat) continue;
    perDocument.set(answer.document, used + 1);
    picked.push(answer);
  }
  return picked;
}
