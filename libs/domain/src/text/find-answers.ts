import { answerShape, hasShape, type AnswerShape } from './answer-shape.ts';
import { bm25TermScore, inverseDocumentFrequency } from './bm25.ts';
import { questionTerms, type QuestionTerm } from './question-words.ts';
import { sentences, type Sentence } from './sentences.ts';
import { terms, termCounts } from './terms.ts';

export interface AnswerDocument {
  title: string;
  /** Markdown. */
  text: string;
}

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
/** An answer this far below the best one is left out. */
const RELATIVE_SCORE_MIN = 0.65;
const PER_DOCUMENT_MAX = 3;
const QUOTE_CHARS_MAX = 400;

/** How much a term counts by where it stands. The sentence itself must hold at least one, or answer its heading directly. */
const WEIGHT = { own: 1, alternative: 0.8, heading: 0.75, title: 0.6, previous: 0.4, document: 0.25 } as const;
const NAME_WEIGHT = 1.5;
const SHAPE_BONUS = 1.3;
const ENDS_ASKING = /[?？][*_"”’)\]]{0,4}$/u;
/** Code shows how, but rarely says what. */
const CODE_PENALTY = 0.5;
/** A sentence that needs the one before it is quoted with it up to this length. */
const PAIR_CHARS_MAX = 320;
const REFERS_BACK = /^(?:it|its|he|she|his|her|they|their|this|that|these|those|such)\b/i;
/** A heading or question that holds this much of what is asked is answered by the sentence right below it. */
const ASKED_ABOVE_MIN = 0.75;
const ASKED_ABOVE_BONUS = 1.5;

interface Candidate {
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
  /** Terms of the title and of a heading or question right above; null when neither stands there. */
  askedAbove: ReadonlySet<string> | null;
}

interface Previous {
  sentence: Sentence;
  terms: ReadonlySet<string>;
  /** Terms of its block up to and with it. */
  block: ReadonlySet<string>;
}

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
  const shape = answerShape(question);
  const scored = candidates
    .map((candidate) => judge(candidate, wanted, scale, { shape, question }))
    .filter((answer): answer is AnswerSentence => answer !== null)
    .sort((left, right) => right.score - left.score);
  return pick(scored, answersMax);
}

function readCandidates({ title, text }: AnswerDocument, document: number): Candidate[] {
  const titleTerms = new Set(terms(title));
  const wholeDocument = new Set<string>();
  const found: Candidate[] = [];
  let heading: ReadonlySet<string> = new Set();
  let columns: ReadonlySet<string> = new Set();
  let previous = null as Previous | null;
  for (const sentence of sentences(text)) {
    const counts = termCounts(sentence.text);
    const own = new Set(counts.keys());
    for (const term of own) wholeDocument.add(term);
    const isRow = sentence.kind === 'table-row';
    const lead = previous?.sentence.block === sentence.block ? previous.sentence : null;
    const isHeaderRow = isRow && previous?.sentence.kind !== 'table-row';
    if (isHeaderRow) columns = own;
    if (sentence.kind === 'heading') heading = own;
    else if (!isHeaderRow && !ENDS_ASKING.test(sentence.text)) {
      found.push({
        document,
        sentence,
        counts,
        length: sumOf(counts),
        heading: isRow ? new Set([...heading, ...columns]) : heading,
        title: titleTerms,
        previous: isRow || sentence.kind === 'field' ? new Set() : (previous?.block ?? new Set()),
        lead,
        wholeDocument,
        askedAbove: previous !== null && asks(previous.sentence) ? new Set([...previous.terms, ...titleTerms]) : null,
      });
    }
    previous = { sentence, terms: own, block: lead === null ? own : new Set([...(previous?.block ?? []), ...own]) };
  }
  return found;
}

function asks({ kind, text }: Sentence): boolean {
  return kind === 'heading' || ENDS_ASKING.test(text);
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
  asked: { shape: AnswerShape; question: string },
): AnswerSentence | null {
  const coverage = coverageOf(wanted, scale, (term) => presence(candidate, term));
  const isDirectAnswer = candidate.askedAbove !== null && coverageIn(candidate.askedAbove, wanted, scale) >= ASKED_ABOVE_MIN;
  const holdsOwn = wanted.some((term) => ownCount(candidate, term) > 0);
  if (coverage < COVERAGE_MIN || !(holdsOwn || isDirectAnswer)) return null;
  const ownCoverage = coverageIn(new Set(candidate.counts.keys()), wanted, scale);
  const quote = quotable(withLead(candidate, ownCoverage), candidate.sentence.kind, wanted);
  if (quote === null) return null;
  const base = wanted.reduce((total, term) => total + termScore(candidate, term, scale), 0);
  const shaped = hasShape(asked.shape, quote, asked.question) ? SHAPE_BONUS : 1;
  const penalty = candidate.sentence.kind === 'code' ? CODE_PENALTY : 1;
  return { document: candidate.document, quote, score: base * shaped * penalty * (isDirectAnswer ? ASKED_ABOVE_BONUS : 1), coverage };
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
  if (candidate.heading.has(term)) return WEIGHT.heading;
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

const IMAGE = /!\[[^\]\n]{0,300}\]\([^)\n]{0,2000}\)/g;
const LINK = /\[([^[\]]{0,300})\]\((?:[^()\s]|\([^()\s]*\)){0,2000}(?:\s"[^"\n]{0,300}")?\)/g;
/** Stands where an image was: the object replacement character, which is no letter. */
const CUT = '\ufffc';
/** What would come alive in a report, or be taken for a mark or citation of the report itself: tags, marks, addresses. */
const FOREIGN_MARK = /<\/?[a-z!?][^<>\n]{0,500}>|<(?=[a-z\/!?])|\[\^?[\d\s,;]{1,20}\]|\[\^\S{1,32}\]|\ufffc|\]\([^)]{0,2000}\)?|!\[|(?:https?:\/\/|www\.|\bdoc:)[^\s<>"`]+/i;
const BRACKET = /[[\]]/g;

/**
 * The sentence as it may stand in a report: the words of links without their addresses, no images, tags or foreign citation marks. Where
 * such a thing stands in the middle, the piece beside it that holds most of the question.
 */
function quotable(text: string, kind: Sentence['kind'], wanted: readonly QuestionTerm[]): string | null {
  if (isNavigation(text)) return null;
  const flat = text.replace(IMAGE, CUT).replace(LINK, '$1');
  const pieces = flat.split(FOREIGN_MARK).map((piece) => tidyPiece(piece, kind)).filter((piece) => new Set(terms(piece)).size > 1);
  const names = new Set(wanted.flatMap(({ term, alternatives }) => [term, ...alternatives]));
  let best: { piece: string; held: number } | null = null;
  for (const piece of pieces) {
    const held = new Set(terms(piece).filter((term) => names.has(term))).size;
    if (best === null || held > best.held || (held === best.held && piece.length > best.piece.length)) best = { piece, held };
  }
  return best === null ? null : cutAtWord(best.piece);
}

/** A line of a table of contents: links and nothing else. */
function isNavigation(text: string): boolean {
  return !/[\p{L}\p{N}]/u.test(text.replace(LINK, '')) && /\]\(/.test(text);
}

/** Together with the sentence before it, where it is hardly understood alone. The two are one stretch of the document. */
function withLead({ sentence, lead }: Candidate, ownCoverage: number): string {
  const needsLead = ownCoverage < COVERAGE_MIN || REFERS_BACK.test(sentence.text);
  const isShort = lead !== null && lead.text.length + sentence.text.length <= PAIR_CHARS_MAX;
  return needsLead && isShort ? `${lead.text} ${sentence.text}` : sentence.text;
}

function tidyPiece(piece: string, kind: Sentence['kind']): string {
  const flat = piece.replace(BRACKET, '').replace(/\s+/g, ' ').trim();
  return kind === 'table-row' ? flat.replace(/^\|\s*|\s*\|$/g, '') : flat;
}

function cutAtWord(text: string): string {
  if (text.length <= QUOTE_CHARS_MAX) return text;
  const space = text.lastIndexOf(' ', QUOTE_CHARS_MAX);
  return space > 0 ? text.slice(0, space) : text.slice(0, QUOTE_CHARS_MAX).replace(/[\ud800-\udbff]$/, '');
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

function sumOf(counts: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}
