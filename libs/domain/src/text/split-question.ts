import { namesIn } from './question-words.ts';
import { terms } from './terms.ts';
import { truncateChars } from './sanitize.ts';

/** What is looked at; a longer question is pasted material, and its parts are no longer questions. */
const QUESTION_CHARS_READ = 4_000;
const PART_CHARS_MAX = 600;

const ASKING = '(?:what|who|whom|whose|when|where|why|how|which)';
/** After a bare comma `which` and `who` mostly open a relative clause. */
const ASKING_AFTER_COMMA = '(?:(?:what|why|how)\\b|(?:when|where)\\s+(?:is|was|are|were|do|does|did|has|have|can|will)\\b)';
const JOINED_QUESTION = new RegExp(`[,;]?\\s+(?:and|as well as|but also)(?:\\s+also)?\\s+(?=(?:(?:in|at|on|for|by|to|from|since)\\s+)?${ASKING}\\b)|;\\s+|,\\s+(?=${ASKING_AFTER_COMMA})`, 'giu');
const LIST_LINE = /^\s*(?:[-*•]|\d{1,2}[.)])\s+(\S.*)$/gmu;
const NAME = String.raw`\p{Lu}[\p{L}\p{N}'’-]*(?:\s\p{Lu}[\p{L}\p{N}'’-]*){0,3}`;
const NAME_LIST = new RegExp(`(?<=\\s)(${NAME}(?:,\\s${NAME})*),?\\s(?:and|or|vs\\.?|versus)\\s(${NAME})`, 'u');
const PROPERTY_LIST = /\b((?:the\s)?\p{Ll}[\p{L}-]*(?:\s\p{Ll}[\p{L}-]*)?(?:,\s(?:the\s)?\p{Ll}[\p{L}-]*(?:\s\p{Ll}[\p{L}-]*)?)*),?\sand\s((?:the\s)?\p{Ll}[\p{L}-]*(?:\s\p{Ll}[\p{L}-]*)?)\s(?=(?:of|for)\s)/u;
const RELATION = /\b(?:distance|relation|relationship|border|treaty|war|agreement|link|route)\b[^?]{0,40}\bbetween\b/i;
const COMPARISON = /^(?:please\s+)?(?:compare|contrast)\s+|^what\s(?:is|are)\sthe\s(?:differences?|similarit\w+)\sbetween\s/i;
const REFERS_BACK = /\b(?:it|its|they|their|them|he|his|she|her|this|that|these|those|there)\b/i;

/**
 * The questions inside a question, one to `partsMax`, each complete in itself: split at question marks, list lines, joined questions
 * ("who ... and when ..."), lists of names ("of A, B and C") and lists of properties ("the height and age of ..."). A part that refers
 * back ("when was it ...") is given the names of the part before it in brackets. What cannot be split comes back as one part; a
 * question without a word comes back empty.
 */
export function splitQuestion(question: string, partsMax: number): string[] {
  const read = truncateChars(question, QUESTION_CHARS_READ).trim();
  if (terms(read).length === 0) return [];
  const parts = askedParts(read).flatMap(splitJoined).flatMap(splitNames).flatMap(splitProperties);
  const complete = withContext(parts.map(tidy).filter((part) => terms(part).length > 0));
  const distinct = [...new Set(complete)];
  if (distinct.length === 0) return [tidy(read)];
  if (distinct.length <= partsMax) return distinct;
  return [...distinct.slice(0, partsMax - 1), truncateChars(distinct.slice(partsMax - 1).join(' '), PART_CHARS_MAX)];
}

function askedParts(question: string): string[] {
  const listed = [...question.matchAll(LIST_LINE)].map((match) => match[1] ?? '');
  if (listed.length > 1) return listed;
  const asked = question.match(/[^?？\n]+[?？]+|[^?？\n]+$/gu) ?? [question];
  const marked = asked.filter((part) => /[?？]$/u.test(part)).map(lastSentence);
  return marked.length > 0 ? marked : [question];
}

/** `We moved in May. Who paid?` asks only the second sentence; its names come back through the context rule. */
function lastSentence(part: string): string {
  const asking = new RegExp(`(?:^|[.!]\\s+)((?:\\S+\\s+){0,2}${ASKING}\\b.*)$`, 'isu').exec(part)?.[1];
  return asking !== undefined && terms(asking).length > 1 ? asking : part;
}

function splitJoined(part: string): string[] {
  const pieces = part.split(JOINED_QUESTION);
  return pieces.every((piece) => terms(piece).length > 0) ? pieces : [part];
}

function splitNames(part: string): string[] {
  const list = RELATION.test(part) ? null : NAME_LIST.exec(part);
  if (list === null) return [part];
  const names = [...(list[1] ?? '').split(/,\s/), list[2] ?? ''];
  const before = part.slice(0, list.index);
  const after = part.slice(list.index + list[0].length);
  if (COMPARISON.test(before)) return names.map((name) => `${name}${after}`);
  return names.map((name) => `${before}${name}${after}`);
}

function splitProperties(part: string): string[] {
  const list = PROPERTY_LIST.exec(part);
  if (list === null) return [part];
  const before = part.slice(0, list.index);
  const after = ` ${part.slice(list.index + list[0].length)}`;
  return [...(list[1] ?? '').split(/,\s/), list[2] ?? ''].map((property) => `${before}${property}${after}`);
}

function withContext(parts: readonly string[]): string[] {
  let context: string[] = [];
  return parts.map((part) => {
    const names = namesIn(part);
    const refersBack = names.length === 0 && context.length > 0 && (REFERS_BACK.test(part) || terms(part).length < 2);
    if (names.length > 0) context = names;
    else if (!refersBack) context = subjectOf(part) ?? context;
    return refersBack ? `${part.replace(/\?+$/, '')} (${context.join(', ')})?` : part;
  });
}

/** The first `the ...` phrase, for questions about something without a proper name. */
function subjectOf(part: string): string[] | null {
  const phrase = /\bthe\s((?:[\p{L}\p{N}-]+\s?){1,2})/u.exec(part)?.[1]?.trim();
  return phrase === undefined || terms(phrase).length === 0 ? null : [phrase];
}

function tidy(part: string): string {
  const flat = part.replace(/\s+/g, ' ').trim().replace(/^(?:and|also|or)\s+/i, '').replace(/[,;:\s]+$/, '');
  const text = truncateChars(flat, PART_CHARS_MAX);
  return text === '' ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
