import { TERMINAL_STATUSES } from '#contracts';

/** One promise as a question to the database. Statements are portable between MySQL 8.4+ and MariaDB 10.11+. */
export interface Oracle {
  /** Number of the promise in docs/invariants.md. */
  invariant: `Q-${string}`;
  /** What holds, in one line. */
  title: string;
  /** Table, join or derived table (with alias) whose rows were looked at. */
  rows: string;
  /** SELECT of one column named `sample`, one row for each violation. */
  violations: string;
  /** True when it can only hold while the services run: something is late. */
  needsServices?: true;
}

const listOf = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/** SQL list of the states in which a run has ended. */
export const ENDED = listOf(TERMINAL_STATUSES);

/** A field of a JSON text column; NULL when the text is no JSON. `->` exists in MySQL only. */
export const jsonField = (column: string, path: string): string => `IF(JSON_VALID(${column}), JSON_UNQUOTE(JSON_EXTRACT(${column}, '$.${path}')), NULL)`;
