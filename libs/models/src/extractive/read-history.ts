import type { ModelMessage, ModelToolCall } from '#contracts';
import type { ModelRequest } from '#domain';

/** A tool call of this run together with its answer. */
export interface Exchange {
  name: string;
  /** Empty when the model's JSON did not parse. */
  arguments: Record<string, unknown>;
  content: string;
  isError: boolean;
}

/** What the request says about this run so far. */
export interface History {
  question: string;
  exchanges: Exchange[];
  /** Turns this run has taken since its question. */
  turns: number;
  /** Names of the tools that may be called now. */
  tools: ReadonlySet<string>;
  /** Every scratchpad entry the run can see, in order, the author's mark left out. */
  entries: string[];
}

export interface Hit {
  url: string;
  title: string;
  snippet: string;
}

export interface ReadPage {
  url: string;
  title: string;
  page: number;
  pages: number;
  text: string;
}

const ENTRIES_TITLE = /^APPENDED ENTRIES.*$/m;

/** Reads the request. Tolerant: what is not understood is left out, nothing throws. */
export function readHistory(request: ModelRequest): History {
  const { messages } = request;
  const asked = questionIndex(messages);
  const since = messages.slice(asked + 1);
  const exchanges = readExchanges(since);
  return {
    question: messages[asked]?.content ?? '',
    exchanges,
    turns: since.filter(({ role }) => role === 'assistant').length,
    tools: new Set(request.tools.map(({ name }) => name)),
    entries: readEntries(since.findLast(showsScratchpad)?.content ?? ''),
  };
}

/** The engine shows the scratchpad as a tool result, and in the message that asks a stopped run for its report. */
function showsScratchpad(message: ModelMessage): boolean {
  if (message.role === 'tool') return message.name === 'read_scratchpad' && !message.isError;
  return message.role === 'user' && ENTRIES_TITLE.test(message.content);
}

/**
 * The first user message after the last finished answer. A user message that follows tool results is a notice of the engine, such as
 * the announcement of the last turn, and no question.
 */
function questionIndex(messages: readonly ModelMessage[]): number {
  let asked = -1;
  let isOpen = true;
  messages.forEach((message, index) => {
    if (message.role === 'assistant') isOpen = (message.toolCalls ?? []).length === 0;
    else if (message.role === 'user' && isOpen) {
      asked = index;
      isOpen = false;
    }
  });
  return asked;
}

function readExchanges(messages: readonly ModelMessage[]): Exchange[] {
  const calls = new Map<string, ModelToolCall>();
  const exchanges: Exchange[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') for (const call of message.toolCalls ?? []) calls.set(call.toolCallId, call);
    if (message.role !== 'tool') continue;
    const call = calls.get(message.toolCallId);
    exchanges.push({ name: message.name, arguments: parseArguments(call?.arguments ?? ''), content: message.content, isError: message.isError });
  }
  return exchanges;
}

function parseArguments(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    // An engine answers broken JSON with an error result; here only the missing arguments matter.
    return {};
  }
}

/** Hits of a search result: blocks of `[n] title`, `URL: address`, snippet. */
export function readHits(content: string): Hit[] {
  return content.split(/\n[ \t]*\n/).flatMap((block) => {
    const parts = /^\[\d+\][ \t]*(.*)\n[ \t]*URL:[ \t]*(\S+)[ \t]*(?:\n([\s\S]*))?$/.exec(block.trim());
    if (parts === null) return [];
    return [{ title: (parts[1] ?? '').trim(), url: parts[2] ?? '', snippet: (parts[3] ?? '').replace(/\s+/g, ' ').trim() }];
  });
}

/** Why a search answer proves nothing about what exists; null when it was whole. */
export function searchGap(content: string): string | null {
  return /The search was incomplete:[ \t]*(.*)$/m.exec(content)?.[1] ?? null;
}

const FRAME_OPEN = '\n---\n';

/**
 * The page in a read or scroll result, or null. The header ends at the first `---` line; the body has the announced number of characters
 * (`Chars:`), or without one reaches to the last `---` line, so that page text cannot end its own frame.
 */
export function readPage(content: string): ReadPage | null {
  const opened = content.indexOf(FRAME_OPEN);
  if (opened === -1) return null;
  const header = content.slice(0, opened);
  const url = field(header, 'URL');
  if (url === null) return null;
  const counted = /^Page:[ \t]*(\d+)[ \t]+of[ \t]+(\d+)/m.exec(header);
  return {
    url,
    title: field(header, 'Title') ?? url,
    page: Number(counted?.[1] ?? 0),
    pages: Number(counted?.[2] ?? 1),
    text: pageBody(content.slice(opened + FRAME_OPEN.length), field(header, 'Chars')),
  };
}

function pageBody(rest: string, chars: string | null): string {
  if (chars !== null && /^\d+$/.test(chars)) return rest.slice(0, Number(chars));
  const closed = rest.lastIndexOf(FRAME_OPEN);
  return closed === -1 ? rest : rest.slice(0, closed);
}

function field(header: string, name: string): string | null {
  const line = header.split('\n').find((candidate) => candidate.startsWith(`${name}:`));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}

/** Page numbers in a `search_web_page` result, most matches first, then in order. */
export function readMatchPages(content: string): number[] {
  const counts = new Map<number, number>();
  for (const match of content.matchAll(/^\[page (\d+)\]/gm)) counts.set(Number(match[1]), (counts.get(Number(match[1])) ?? 0) + 1);
  return [...counts].sort((left, right) => right[1] - left[1] || left[0] - right[0]).map(([page]) => page);
}

/** Entries of a rendered scratchpad. */
function readEntries(content: string): string[] {
  const start = ENTRIES_TITLE.exec(content);
  if (start === null) return [];
  const listed = content.slice(start.index + start[0].length);
  return listed
    .split(/^(?=\[\d+\] \()/m)
    .map((entry) => /^\[\d+\] \([^)\n]*\)[ \t]*([\s\S]*)$/.exec(entry)?.[1]?.trim() ?? '')
    .filter((entry) => entry !== '');
}
