import { TOOL_QUERY_CHARS_MAX } from '#contracts';
import { otherWords, searchWords, truncateChars } from '#domain';

const FIND = 'Find the answer to this question in the documents: ';
const PART_OF = 'It is part of the research question: ';
const OTHER = 'Search with these other words: ';
const CONTEXT_CHARS_MAX = 2_000;

/** A delegation as a worker understands it. */
export interface Task {
  question: string;
  /** Set in a second round: the words to search with instead. */
  words: string | null;
}

/** The text of a delegation: the sub-question in full and the question it is part of. */
export function renderTask(subQuestion: string, question: string): string {
  const context = truncateChars(question.replace(/\s+/g, ' ').trim(), CONTEXT_CHARS_MAX);
  return `${FIND}${subQuestion}\n${PART_OF}${context}`;
}

/** Requirements of a delegation; the second round names other words. Null for `words` is the first round. */
export function renderRequirements(words: string | null): string {
  const form = 'Quote exact sentences, each with a link to its page, and append them to the scratchpad.';
  return words === null ? form : `${form}\n${OTHER}${words}`;
}

/** Reads a task of `renderTask`, or any other text, which is then the question as a whole. */
export function readTask(text: string): Task {
  const question = lineAfter(text, FIND);
  return { question: question ?? plainTask(text), words: lineAfter(text, OTHER) };
}

export function searchQuery({ question, words }: Task): string {
  return truncateChars(words ?? searchWords(question, TOOL_QUERY_CHARS_MAX), TOOL_QUERY_CHARS_MAX);
}

/** Words for a second search of the same task; null when there are no others. */
export function otherQuery({ question, words }: Task): string | null {
  const others = otherWords(question).join(' ');
  const query = truncateChars(words === null ? others : searchWords(question, TOOL_QUERY_CHARS_MAX), TOOL_QUERY_CHARS_MAX);
  return query === '' ? null : query;
}

function lineAfter(text: string, opening: string): string | null {
  const at = text.indexOf(opening);
  if (at === -1) return null;
  const start = at + opening.length;
  const end = text.indexOf('\n', start);
  return text.slice(start, end === -1 ? undefined : end).trim();
}

function plainTask(text: string): string {
  const task = text.split(/^\s*(?:requirements?\s*(?::|$)|Only findings on the scratchpad count)/im)[0] ?? text;
  return truncateChars(task.replace(/^\s*task\s*(?::|\n)/i, '').replace(/\s+/g, ' ').trim(), CONTEXT_CHARS_MAX);
}
