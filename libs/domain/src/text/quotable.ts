import type { QuestionTerm } from './question-words.ts';
import type { Sentence } from './sentences.ts';
import { terms } from './terms.ts';

const QUOTE_CHARS_MAX = 400;
/** Fewer different terms say nothing. A piece of a sentence needs more than a whole one. */
const SENTENCE_TERMS_MIN = 2;
const PIECE_TERMS_MIN = 4;
/** A sentence that needs the one before it is quoted with it up to this length. */
const PAIR_CHARS_MAX = 320;
const REFERS_BACK = /^(?:it|its|he|she|his|her|they|their|this|that|these|those|such)\b/i;

/** Together with the sentence before it, where it is hardly understood alone. The two are one stretch of the document. */
export function withLead(sentence: Sentence, lead: Sentence | null, isWeakAlone: boolean): string {
  const needsLead = isWeakAlone || REFERS_BACK.test(sentence.text);
  const isShort = lead !== null && lead.text.length + sentence.text.length <= PAIR_CHARS_MAX;
  if (!needsLead || !isShort) return sentence.text;
  return lead.text + (sentence.start > lead.end ? ' ' : '') + sentence.text;
}

const IMAGE = /!\[[^\]\n]{0,300}\]\([^)\n]{0,2000}\)/g;
const LINK = /\[([^[\]]{0,300})\]\((?:[^()\s]|\([^()\s]*\)){0,2000}(?:\s"[^"\n]{0,300}")?\)/g;
/** Stands where an image was: the object replacement character, which is no letter. */
const CUT = '\ufffc';
/** What would come alive in a report, or be taken for a mark or citation of the report itself: tags, marks, addresses. */
const FOREIGN_MARK = /<\/?[a-z!?][^<>\n]{0,500}>|<(?=[a-z\/!?])|\[\^?[\d\s,;]{1,20}\]|\[\^\S{1,32}\]|\ufffc|\]\([^)]{0,2000}\)?|!\[|(?:https?:\/\/|www\.|\bdoc:)[^\s<>"`]+/i;
const HAS_SUBSTANCE = /[\p{L}\p{N}]/u;
const BRACKET = /[[\]]/g;

/**
 * The sentence as it may stand in a report: the words of links without their addresses, no images, tags or foreign citation marks. Where
 * such a thing stands in the middle, the piece beside it that holds most of the question.
 */
export function quotable(text: string, kind: Sentence['kind'], wanted: readonly QuestionTerm[]): string | null {
  if (isNavigation(text)) return null;
  const flat = text.replace(IMAGE, CUT).replace(LINK, '$1');
  const cut = flat.split(FOREIGN_MARK).map((piece) => tidyPiece(piece, kind)).filter((piece) => HAS_SUBSTANCE.test(piece));
  const termsMin = cut.length > 1 ? PIECE_TERMS_MIN : SENTENCE_TERMS_MIN;
  const pieces = cut.filter((piece) => new Set(terms(piece)).size >= termsMin);
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
  return !HAS_SUBSTANCE.test(text.replace(LINK, '')) && /\]\(/.test(text);
}

function tidyPiece(piece: string, kind: Sentence['kind']): string {
  const flat = piece.replace(BRACKET, '').replace(/\s+/g, ' ').trim();
  const whole = hasCutCode(flat) ? flat.replace(/^`+\s*|[\s|]*`+$/g, '') : flat;
  return kind === 'table-row' ? whole.replace(/^\|\s*|\s*\|$/g, '') : whole;
}

/** A cut inside code leaves one of its two marks behind. */
function hasCutCode(text: string): boolean {
  return (text.match(/`/g) ?? []).length % 2 === 1;
}

function cutAtWord(text: string): string {
  if (text.length <= QUOTE_CHARS_MAX) return text;
  const space = text.lastIndexOf(' ', QUOTE_CHARS_MAX);
  return space > 0 ? text.slice(0, space) : text.slice(0, QUOTE_CHARS_MAX).replace(/[\ud800-\udbff]$/, '');
}
