import { terms } from './terms.ts';

/** One cell of a table row. `text` is `row.slice(start, end)`, without the white space around it. */
export interface RowCell {
  text: string;
  start: number;
  end: number;
}

/** What makes a cell part of the answer. */
export interface AskedOfRow {
  /** Terms of the question and their alternatives. */
  names: ReadonlySet<string>;
  /** Terms of each header cell. */
  columns: readonly ReadonlySet<string>[];
  /** Whether a text holds the kind of thing that is asked for, such as a number. */
  isAnswer: (text: string) => boolean;
}

/** Fewer different terms hardly make sense without the name of the row. */
const CELL_TERMS_MIN = 4;

/** The cells of `| a | b |`, empty ones included, so that a position is a column. `\\|` is no border. */
export function rowCells(row: string): RowCell[] {
  const borders = [...row.matchAll(/(?<!\\)\|/g)].map(({ index }) => index);
  const ends = [...borders, row.length];
  const cells = ends.map((end, at) => trimmedCell(row, at === 0 ? 0 : (ends[at - 1] ?? 0) + 1, end));
  return cells.filter(({ text }, at) => text !== '' || (at > 0 && at < cells.length - 1));
}

function trimmedCell(row: string, from: number, to: number): RowCell {
  const raw = row.slice(from, to);
  const text = raw.trim();
  const start = from + (raw.length - raw.trimStart().length);
  return { text, start, end: start + text.length };
}

/**
 * The stretch of a table row that answers: from the first to the last cell that holds a word of the question no better cell holds, stands in
 * a column the question names, or holds what is asked for. A short stretch starts with the row's first cell. A slice of the row.
 */
export function rowQuote(row: string, asked: AskedOfRow): string {
  const cells = rowCells(row);
  const matching = matchingCells(cells, asked);
  const last = matching.at(-1);
  const first = matching[0];
  if (first === undefined || last === undefined) return row;
  const stretch = row.slice(first.start, last.end);
  if (new Set(terms(stretch)).size >= CELL_TERMS_MIN) return stretch;
  return matching.length === 1 && first === cells[0] ? row : row.slice(cells[0]?.start ?? 0, last.end);
}

function matchingCells(cells: readonly RowCell[], { names, columns, isAnswer }: AskedOfRow): RowCell[] {
  const held = cells.map(({ text }) => new Set(terms(text).filter((term) => names.has(term))));
  const bestFirst = [...cells.keys()].sort((left, right) => (held[right]?.size ?? 0) - (held[left]?.size ?? 0) || left - right);
  const seen = new Set<string>();
  const adding = new Set<number>();
  for (const at of bestFirst) {
    const fresh = [...(held[at] ?? [])].filter((term) => !seen.has(term));
    if (fresh.length > 0) adding.add(at);
    for (const term of fresh) seen.add(term);
  }
  const named = new Set([...cells.keys()].filter((at) => [...(columns[at] ?? [])].some((term) => names.has(term) && !seen.has(term))));
  const isAsked = (at: number, { text }: RowCell): boolean => (named.size > 0 ? named.has(at) : isAnswer(text));
  return cells.filter((cell, at) => cell.text !== '' && (adding.has(at) || isAsked(at, cell)));
}
