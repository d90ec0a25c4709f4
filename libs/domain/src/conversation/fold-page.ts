import { SCRATCHPAD_BODY_CHARS_MAX, type ModelMessage } from '#contracts';
import { findQuote, foldText } from '../evidence/find-quote.ts';
import { rankPassages } from '../text/bm25.ts';
import { truncateChars } from '../text/sanitize.ts';
import { oneLine } from '../tools/one-line.ts';
import { pageFrame, readPageFrame } from '../tools/render-result.ts';

/** Characters of a page that a fold keeps, in whole passages. */
const KEPT_CHARS_MAX = 480;
const PASSAGE_CHARS_MAX = 240;
const PASSAGES_MAX = 3;
/** Passages are paragraphs of their own: nobody reads two of them as one sentence. */
const GAP = '\n\n[…]\n\n';
const QUOTE_CHARS_MIN = 12;

const PASSAGE = new RegExp(`\\S[^\\n]{0,${PASSAGE_CHARS_MAX - 1}}(?:(?<=[.!?])(?=\\s)|$)|\\S[^\\n]{0,${PASSAGE_CHARS_MAX - 1}}(?!\\S)|\\S[^\\n]{0,${PASSAGE_CHARS_MAX - 1}}`, 'gmu');
const QUOTED = /“([^“”]+)”|"([^"]+)"/gu;

/** What a worker was after when a page was folded. */
export interface FoldInterest {
  /** Words of its searches; of its task as long as it has made none. */
  query: string;
  /** Passages it put into quotation marks in its notes. */
  quotes: readonly string[];
}

/** Reads a worker's interest off its history: the notes it has written and what it has searched for. Broken arguments count for nothing. */
export function foldInterest(messages: readonly ModelMessage[]): FoldInterest {
  const queries: string[] = [];
  const quotes: string[] = [];
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      const { query, note } = stringsOf(call.arguments);
      if (query !== undefined) queries.push(query);
      if (note !== undefined) quotes.push(...quotesIn(note));
    }
  }
  const task = messages.find(({ role }) => role === 'user')?.content ?? '';
  return { query: queries.length > 0 ? queries.join('\n') : task, quotes };
}

function stringsOf(json: string): { query?: string; note?: string } {
  if (json.length > SCRATCHPAD_BODY_CHARS_MAX) return {};
  try {
    const value = JSON.parse(json) as Record<string, unknown> | null;
    const text = (name: string) => (typeof value?.[name] === 'string' ? { [name]: value[name] } : {});
    return { ...text('query'), ...text('note') };
  } catch {
    // such a call has an error result already, and no interest that could be read
    return {};
  }
}

const quotesIn = (note: string): string[] => [...note.matchAll(QUOTED)].map((match) => match[1] ?? match[2] ?? '').filter((quote) => quote.length >= QUOTE_CHARS_MIN);

/**
 * A rendered page, folded: its head, the passages that were quoted from it, the ones that suit the searches best as far as there is
 * room, and how to open it again for nothing. Every passage stands verbatim in the page, apart from white space. What is no page, or
 * is shorter than its fold, comes back as it is. Pure, so that a resumed run and a replay build the same text.
 */
export function foldPage(rendered: string, interest: FoldInterest): string {
  const frame = readPageFrame(rendered);
  if (frame === null) return rendered;
  const body = keptPassages(frame.body, interest).join(GAP);
  const folded = pageFrame(frame.head, body, `Folded: only these passages are kept here. scroll_web_page with page ${frame.page} shows the whole page again and search_web_page finds passages, both free.`);
  return folded.length < rendered.length ? folded : rendered;
}

interface Passage {
  start: number;
  text: string;
}

/** In the order of the page, so that a quote over a gap is still one of its text. */
function keptPassages(page: string, { query, quotes }: FoldInterest): string[] {
  const source = foldText(page);
  const quoted = quotes.flatMap((quote) => findQuote(quote, source)).map(({ quote, start }) => ({ start, text: truncateChars(oneLine(quote), PASSAGE_CHARS_MAX) }));
  const passages = [...page.matchAll(PASSAGE)].map((match): Passage => ({ start: match.index, text: oneLine(match[0]) }));
  const ranked = rankPassages(query, passages.map(({ text }) => text)).flatMap(({ index }) => passages[index] ?? []);
  const kept: Passage[] = [];
  let left = KEPT_CHARS_MAX;
  for (const passage of [...quoted, ...ranked, ...passages.slice(0, 1)]) {
    const { text } = passage;
    if (kept.length === PASSAGES_MAX || text.length > left || kept.some((other) => other.text.includes(text))) continue;
    kept.push(passage);
    left -= text.length;
  }
  return kept.sort((left, right) => left.start - right.start).map(({ text }) => text);
}
