import { introduces, readCandidates, type AnswerDocument, type Candidate } from './answer-candidates.ts';
import { answerShape, asksQuantity, filledTerms, hasShape, type AnswerShape } from './answer-shape.ts';
import { bm25TermScore, inverseDocumentFrequency } from './bm25.ts';
import { questionTerms, type QuestionTerm } from './question-words.ts';
import { quotable, withLead } from './quotable.ts';
import { rowQuote } from './row-quote.ts';
import { selectAnswers, type AnswerSentence, type ScoredAnswer } from './select-answers.ts';
import { isCharacterPair } from './terms.ts';

/** Share of the question that an answer must hold; below it a sentence shares words but not the subject. */
const COVERAGE_MIN = 0.5;
/** The same for scripts without spaces: most pairs of a question span two words or hold none that an answer repeats. */
const PAIR_COVERAGE_MIN = 0.18;
/** The same for a text without a number where a quantity is asked for: it must be about nothing else, and share more than a name. */
const UNQUANTIFIED_COVERAGE_MIN = 0.8;
const UNQUANTIFIED_TERMS_MIN = 2;

/** How much a term counts by where it stands. The sentence itself must hold at least one, or answer its heading directly. `filled`: see `filledTerms`. */
const WEIGHT = { own: 1, alternative: 0.8, heading: 0.75, filled: 0.7, title: 0.6, previous: 0.4, document: 0.25 } as const;
const NAME_WEIGHT = 1.5;
const SHAPE_BONUS = 1.3;
const UNQUANTIFIED_PENALTY = 0.5;
/** A word that only asks for the kind of answer, in a text that has the word and not the answer. */
const UNFILLED_SHARE = 0.5;
/** Prose is understood alone; a row leans on its header. */
const ROW_PENALTY = 0.8;
/** Code shows how, but rarely says what. */
const CODE_PENALTY = 0.5;
const INTRODUCTION_PENALTY = 0.6;
/** A heading or question that holds this much of what is asked is answered by the sentence right below it. */
const ASKED_ABOVE_MIN = 0.75;
const ASKED_ABOVE_BONUS = 1.5;

interface Scale {
  candidates: number;
  averageLength: number;
  frequencies: ReadonlyMap<string, number>;
}

/** What is asked for, read from the question once. */
interface Asked {
  question: string;
  shape: AnswerShape;
  wanted: readonly QuestionTerm[];
  names: ReadonlySet<string>;
  filled: ReadonlySet<string>;
  coverageMin: number;
}

/**
 * Sentences that answer a question, best first, at most `answersMax` and three of one document. Empty when no sentence with its heading,
 * title and neighbour holds half of what the question names: then the documents hold no answer. Deterministic, never throws.
 */
export function findAnswers(question: string, documents: readonly AnswerDocument[], answersMax: number): AnswerSentence[] {
  const asked = readQuestion(question);
  if (asked.wanted.length === 0) return [];
  const candidates = documents.flatMap((document, index) => readCandidates(document, index));
  const scale = measure(candidates, asked.wanted);
  const scored = candidates.map((candidate) => judge(candidate, scale, asked)).filter((answer) => answer !== null);
  return selectAnswers(scored.sort((left, right) => right.score - left.score), answersMax);
}

function readQuestion(question: string): Asked {
  const wanted = questionTerms(question);
  const shape = answerShape(question);
  return {
    question,
    shape,
    wanted,
    names: new Set(wanted.flatMap(({ term, alternatives }) => [term, ...alternatives])),
    filled: filledTerms(shape),
    coverageMin: wanted.every(({ term }) => isCharacterPair(term)) ? PAIR_COVERAGE_MIN : COVERAGE_MIN,
  };
}

function measure(candidates: readonly Candidate[], wanted: readonly QuestionTerm[]): Scale {
  const frequencies = new Map<string, number>();
  for (const term of wanted.flatMap(({ term, alternatives }) => [term, ...alternatives])) {
    frequencies.set(term, candidates.reduce((total, { counts }) => total + (counts.has(term) ? 1 : 0), 0));
  }
  const total = candidates.reduce((length, candidate) => length + candidate.length, 0);
  return { candidates: candidates.length, averageLength: total / Math.max(1, candidates.length), frequencies };
}

function judge(candidate: Candidate, scale: Scale, asked: Asked): ScoredAnswer | null {
  const { wanted } = asked;
  const isShaped = hasShape(asked.shape, candidate.sentence.text, asked.question);
  const isUnquantified = asksQuantity(asked.shape) && !isShaped;
  const share = (term: QuestionTerm): number => presence(candidate, term, asked.filled.has(term.term), isShaped);
  const coverage = coverageOf(wanted, scale, share);
  const held = wanted.filter((term) => ownCount(candidate, term) > 0).map(({ term }) => term);
  const isDirectAnswer = answersAbove(candidate, wanted, scale);
  if (coverage < asked.coverageMin || !(held.length > 0 || isDirectAnswer)) return null;
  if (isUnquantified && !(sharesSubject(candidate, wanted) && (isDirectAnswer || coverage >= UNQUANTIFIED_COVERAGE_MIN))) return null;
  const quote = quoteOf(candidate, scale, asked);
  if (quote === null) return null;
  const base = wanted.reduce((total, term) => total + share(term) * rarityScore(candidate, term, scale), 0);
  const shaped = isShaped ? SHAPE_BONUS : isUnquantified ? UNQUANTIFIED_PENALTY : 1;
  const score = base * shaped * (isDirectAnswer ? ASKED_ABOVE_BONUS : penaltyOf(candidate, quote));
  return { document: candidate.document, quote, score, coverage, held };
}

function sharesSubject(candidate: Candidate, wanted: readonly QuestionTerm[]): boolean {
  return wanted.filter((term) => ownCount(candidate, term) > 0 || isAskedBy(candidate, term)).length >= UNQUANTIFIED_TERMS_MIN;
}

function isAskedBy({ asking }: Candidate, { term, alternatives }: QuestionTerm): boolean {
  return asking.has(term) || alternatives.some((other) => asking.has(other));
}

/** The title alone makes no sentence below a heading an answer: the heading itself has to name something that is asked for. */
function answersAbove(candidate: Candidate, wanted: readonly QuestionTerm[], scale: Scale): boolean {
  const { askedAbove } = candidate;
  return askedAbove !== null && wanted.some((term) => isAskedBy(candidate, term)) && coverageIn(askedAbove, wanted, scale) >= ASKED_ABOVE_MIN;
}

function quoteOf({ sentence, lead, counts, columns }: Candidate, scale: Scale, { question, shape, wanted, names, coverageMin }: Asked): string | null {
  if (sentence.kind === 'table-row') {
    const stretch = rowQuote(sentence.text, { names, columns, isAnswer: (text) => hasShape(shape, text, question) });
    return quotable(stretch, sentence.kind, wanted);
  }
  const isWeakAlone = coverageIn(new Set(counts.keys()), wanted, scale) < coverageMin;
  return quotable(withLead(sentence, lead, isWeakAlone), sentence.kind, wanted);
}

function penaltyOf({ sentence }: Candidate, quote: string): number {
  if (sentence.kind === 'code' || isMostlyCode(quote)) return CODE_PENALTY;
  if (sentence.kind === 'table-row') return ROW_PENALTY;
  return introduces(sentence.text) ? INTRODUCTION_PENALTY : 1;
}

function isMostlyCode(quote: string): boolean {
  const marked = quote.match(/`[^`]*`/g)?.join('').length ?? 0;
  return marked > quote.length / 2;
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

/** Where the term stands, as a share of a full match. What is asked for stands in for a word that only asks for it. */
function presence(candidate: Candidate, wanted: QuestionTerm, isFilled: boolean, isShaped: boolean): number {
  const share = placeOf(candidate, wanted);
  if (!isFilled) return share;
  return isShaped ? Math.max(share, WEIGHT.filled) : share * UNFILLED_SHARE;
}

function placeOf(candidate: Candidate, { term, alternatives, isName }: QuestionTerm): number {
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

function rarityScore(candidate: Candidate, wanted: QuestionTerm, scale: Scale): number {
  const occurrences = Math.max(1, ownCount(candidate, wanted));
  const documentFrequency = scale.frequencies.get(wanted.term) ?? 0;
  const posting = { occurrences, length: candidate.length, documentFrequency };
  return bm25TermScore(posting, { documents: scale.candidates, averageLength: scale.averageLength });
}
