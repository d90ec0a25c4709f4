import type { RunId, ToolCallId } from '#contracts';

/** The first place where a replay did not do what the record says. */
export interface ReplayDifference {
  runId: RunId;
  /** Delegation number of a worker run; null for the root run. */
  worker: number | null;
  turn: number;
  attempt: number | null;
  toolCallId: ToolCallId | null;
  /** What differs, such as `result` or `prompt`. */
  what: string;
  recorded: string;
  replayed: string;
}

const SHOWN_CHARS_MAX = 240;
const CONTEXT_CHARS = 60;

/** Two values as short texts around the first character in which their JSON differs; null when they are equal. */
export function compareValues(recorded: unknown, replayed: unknown): { recorded: string; replayed: string } | null {
  const [left, right] = [textOf(recorded), textOf(replayed)];
  if (left === right) return null;
  let at = 0;
  while (at < left.length && left[at] === right[at]) at++;
  const start = at > CONTEXT_CHARS ? at - CONTEXT_CHARS : 0;
  return { recorded: shown(left, start), replayed: shown(right, start) };
}

const shown = (text: string, start: number): string => `${start > 0 ? '...' : ''}${text.slice(start, start + SHOWN_CHARS_MAX)}${text.length > start + SHOWN_CHARS_MAX ? '...' : ''}`;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(sorted(value)) ?? 'nothing'));

/** Members in one order, and those that are undefined left out, as a round trip through the database leaves them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, member]) => [key, sorted(member)]));
}
