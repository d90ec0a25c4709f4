import type { Connection, RowDataPacket } from 'mysql2/promise';

/** Columns whose content a run leaves behind: what people, prompts and replays need. Indexes, ids and row headers are not counted. */
const KEPT_COLUMNS: Record<string, string[]> = {
  runs: ['question', 'report', 'citations'],
  messages: ['content', 'reasoning'],
  tool_calls: ['arguments', 'result'],
  attempts: ['stream'],
  sources: ['body', 'url', 'title'],
  scratchpads: ['body'],
  scratchpad_entries: ['text'],
  run_events: ['body'],
};

/** Bytes of those columns in the whole database, by table. */
export async function keptBytes(database: Connection): Promise<Record<string, number>> {
  const kept: Record<string, number> = {};
  for (const [table, columns] of Object.entries(KEPT_COLUMNS)) {
    const sum = columns.map((column) => `COALESCE(SUM(LENGTH(\`${column}\`)), 0)`).join(' + ');
    const [rows] = await database.query<RowDataPacket[]>(`SELECT ${sum} AS bytes FROM \`${table}\``);
    kept[table] = Number(rows[0]?.['bytes'] ?? 0);
  }
  return kept;
}

interface LoggedStatement extends RowDataPacket {
  thread: number;
  statement: string;
}

export interface CommitCount {
  /** Transactions and single statements that changed something: each is one durable commit. */
  writing: number;
  /** Committed transactions that changed nothing. */
  readOnly: number;
  statements: number;
  /** Texts sent; one may hold several statements. */
  roundTrips: number;
}

/**
 * Counts commits of `work` exactly, from the server's general log: a commit after a writing statement, and each writing statement outside
 * a transaction. Needs the right to switch the log; that is why it belongs on the bench's private server only.
 */
export async function countCommits(database: Connection, work: () => Promise<void>): Promise<CommitCount> {
  await database.query("SET GLOBAL log_output = 'TABLE'");
  await database.query('TRUNCATE TABLE mysql.general_log');
  await database.query('SET GLOBAL general_log = ON');
  try {
    await work();
  } finally {
    await database.query('SET GLOBAL general_log = OFF');
  }
  const [rows] = await database.query<LoggedStatement[]>(
    "SELECT thread_id AS thread, CONVERT(argument USING utf8mb4) AS statement FROM mysql.general_log WHERE command_type IN ('Query', 'Execute')",
  );
  return commitsIn(rows);
}

const WRITES = /^\s*(insert|update|delete|replace)\b/i;
const BEGINS = /^\s*(begin|start\s+transaction)\b/i;
const ENDS = /^\s*(commit|rollback)\b/i;

/** A quoted text, or a semicolon outside of one. */
const QUOTED_OR_END = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|;/gs;

/** The single statements of a text as the server ran them. Quoted texts are left out: they may be large and say nothing about the kind. */
export const splitStatements = (text: string): string[] =>
  text
    .replace(QUOTED_OR_END, (token) => (token === ';' ? '\u0000' : '?'))
    .split('\u0000')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');

/** Pure: logged texts in order, each with the connection it ran on; one text may hold several statements. */
export function commitsIn(rows: readonly { thread: number; statement: string }[]): CommitCount {
  const open = new Map<number, { hasWritten: boolean }>();
  const count: CommitCount = { writing: 0, readOnly: 0, statements: 0, roundTrips: rows.length };
  for (const { thread, statement: text } of rows) for (const statement of splitStatements(text)) countStatement(statement, thread, open, count);
  return count;
}

function countStatement(statement: string, thread: number, open: Map<number, { hasWritten: boolean }>, count: CommitCount): void {
  count.statements++;
  const transaction = open.get(thread);
  if (BEGINS.test(statement)) open.set(thread, { hasWritten: false });
  else if (ENDS.test(statement)) {
    open.delete(thread);
    if (transaction === undefined || !/^commit/i.test(statement)) return;
    if (transaction.hasWritten) count.writing++;
    else count.readOnly++;
  } else if (WRITES.test(statement)) {
    if (transaction === undefined) count.writing++;
    else transaction.hasWritten = true;
  }
}
