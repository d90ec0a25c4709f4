import { QuaestorError, type RunId, type TenantId } from '#contracts';
import { rowsOf, type Row, type Sql, type Statement } from '../sql.ts';

const OF_ROOT = 'root_run_id = :root';
const RUNS = `SELECT id FROM runs WHERE ${OF_ROOT}`;
const THREADS = `SELECT thread_id FROM runs WHERE ${OF_ROOT}`;
/** Runs in the order in which they were made: a copy keeps it, while its ids sort differently. */
const runNumber = (table: string): string => `(SELECT run_no FROM runs r WHERE r.id = ${table}.run_id)`;

/** Every table that holds a part of a root run and its workers: which rows, and the order in which they came to be. */
const TREE_TABLES = {
  runs: `${OF_ROOT} ORDER BY worker_number IS NOT NULL, worker_number`,
  assistants: `id IN (SELECT assistant_id FROM runs WHERE ${OF_ROOT}) ORDER BY role, name`,
  threads: `id IN (${THREADS}) ORDER BY (SELECT run_no FROM runs r WHERE r.thread_id = threads.id ORDER BY run_no LIMIT 1)`,
  messages: `run_id IN (${RUNS}) ORDER BY sequence_no`,
  attempts: `${OF_ROOT} ORDER BY ${runNumber('attempts')}, turn, attempt`,
  tool_calls: `${OF_ROOT} ORDER BY ${runNumber('tool_calls')}, turn, call_index`,
  scratchpads: `thread_id IN (${THREADS})`,
  scratchpad_entries: `run_id IN (${RUNS}) ORDER BY sequence_no`,
  sources: `${OF_ROOT} ORDER BY source_no`,
  budgets: OF_ROOT,
  reservations: `${OF_ROOT} ORDER BY ${runNumber('reservations')}, operation, created_at,
    (SELECT c.turn * 1000 + c.call_index FROM tool_calls c WHERE c.reservation_id = reservations.id), LENGTH(effect_key), SUBSTRING_INDEX(effect_key, ':', -2)`,
  run_events: `${OF_ROOT} ORDER BY seq`,
} as const;

export type TreeTable = keyof typeof TREE_TABLES;
export type TreeRows = Record<TreeTable, Row[]>;
export const TREE_TABLE_NAMES = Object.keys(TREE_TABLES) as TreeTable[];

const selectOf = (table: TreeTable, rootRunId: RunId): Statement => {
  const condition = TREE_TABLES[table];
  return { sql: `SELECT * FROM ${table} WHERE ${condition.replaceAll(':root', '?')}`, values: Array.from({ length: condition.split(':root').length - 1 }, () => rootRunId) };
};

/**
 * Every row of a root run and its workers, as they stood at one instant. With a tenant only that tenant's; without one any, for an operator.
 * @throws QuaestorError `NOT_FOUND` for a run that is missing, foreign, or a worker's; `INVALID_REQUEST` for one that continues another, because
 * what it was asked stands in rows of that one
 */
export async function readTreeRows(sql: Sql, rootRunId: RunId, tenantId: TenantId | null): Promise<TreeRows> {
  const outcomes = await sql.batch([
    { sql: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ' },
    { sql: 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY' },
    ...TREE_TABLE_NAMES.map((table) => selectOf(table, rootRunId)),
    { sql: 'COMMIT' },
  ]);
  const rows = Object.fromEntries(TREE_TABLE_NAMES.map((table, index) => [table, rowsOf(outcomes, index + 2)])) as TreeRows;
  const root = rows.runs.find(({ id }) => id === rootRunId);
  if (!root || (tenantId !== null && root.tenant_id !== tenantId)) throw new QuaestorError('NOT_FOUND', 'There is no run with this id.');
  if (root.resumed_from !== null) throw new QuaestorError('INVALID_REQUEST', `This run continues ${root.resumed_from}, whose rows it needs: only the first run of such a chain can be replayed, forked or exported.`);
  return rows;
}
