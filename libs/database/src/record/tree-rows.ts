import { QuaestorError, type RunId, type TenantId } from '#contracts';
import { CHAIN } from '../repositories/chain.ts';
import { rowsOf, type Row, type Sql, type Statement } from '../sql.ts';

const OF_ROOT = 'root_run_id IN (:roots)';
const RUNS = `SELECT id FROM runs WHERE ${OF_ROOT}`;
const THREADS = `SELECT thread_id FROM runs WHERE ${OF_ROOT}`;
/** Runs in the order in which they were made: a copy keeps it, while its ids sort differently. */
const runNumber = (table: string): string => `(SELECT run_no FROM runs r WHERE r.id = ${table}.run_id)`;

const rootNumber = (table: string): string => `(SELECT run_no FROM runs root WHERE root.id = ${table}.root_run_id)`;

/** Every table that holds a part of root runs and their workers: which rows, and the order in which they came to be. */
const TREE_TABLES = {
  runs: `${OF_ROOT} ORDER BY ${rootNumber('runs')}, worker_number IS NOT NULL, worker_number`,
  assistants: `id IN (SELECT assistant_id FROM runs WHERE ${OF_ROOT}) ORDER BY role, name`,
  threads: `id IN (${THREADS}) ORDER BY (SELECT run_no FROM runs r WHERE r.thread_id = threads.id ORDER BY run_no LIMIT 1)`,
  messages: `run_id IN (${RUNS}) ORDER BY sequence_no`,
  attempts: `${OF_ROOT} ORDER BY ${runNumber('attempts')}, turn, attempt`,
  tool_calls: `${OF_ROOT} ORDER BY ${runNumber('tool_calls')}, turn, call_index`,
  scratchpads: `thread_id IN (${THREADS})`,
  scratchpad_entries: `run_id IN (${RUNS}) ORDER BY sequence_no`,
  sources: `${OF_ROOT} ORDER BY source_no`,
  budgets: `${OF_ROOT} ORDER BY ${rootNumber('budgets')}`,
  reservations: `${OF_ROOT} ORDER BY ${runNumber('reservations')}, operation, created_at,
    (SELECT c.turn * 1000 + c.call_index FROM tool_calls c WHERE c.reservation_id = reservations.id), LENGTH(effect_key), SUBSTRING_INDEX(effect_key, ':', -2)`,
  run_events: `${OF_ROOT} ORDER BY ${rootNumber('run_events')}, seq`,
} as const;

export type TreeTable = keyof typeof TREE_TABLES;
export type TreeRows = Record<TreeTable, Row[]>;
export const TREE_TABLE_NAMES = Object.keys(TREE_TABLES) as TreeTable[];

const selectOf = (table: TreeTable, rootRunIds: string[]): Statement => {
  const condition = TREE_TABLES[table];
  return { sql: `SELECT * FROM ${table} WHERE ${condition.replaceAll(':roots', '?')}`, values: Array.from({ length: condition.split(':roots').length - 1 }, () => rootRunIds) };
};

/**
 * Every row of a root run, of its workers, and of the runs it continues with theirs, oldest first, as they stood at one instant. With a tenant
 * only that tenant's; without one any, for an operator.
 * @throws QuaestorError `NOT_FOUND` for a run that is missing, foreign, or a worker's
 */
export async function readTreeRows(sql: Sql, rootRunId: RunId, tenantId: TenantId | null): Promise<TreeRows> {
  // what a run continues is said when it is made, and never changes
  const chain = (await sql.rows(`${CHAIN} SELECT id FROM chain`, [rootRunId])).map(({ id }) => id as string);
  if (chain.length === 0) throw notFound();
  const outcomes = await sql.batch([
    { sql: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ' },
    { sql: 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY' },
    ...TREE_TABLE_NAMES.map((table) => selectOf(table, chain)),
    { sql: 'COMMIT' },
  ]);
  const rows = Object.fromEntries(TREE_TABLE_NAMES.map((table, index) => [table, rowsOf(outcomes, index + 2)])) as TreeRows;
  const root = rows.runs.find(({ id }) => id === rootRunId);
  if (root?.root_run_id !== rootRunId || (tenantId !== null && root.tenant_id !== tenantId)) throw notFound();
  return rows;
}

const notFound = (): QuaestorError => new QuaestorError('NOT_FOUND', 'There is no run with this id.');

/**
 * The root run that the rows are about: the one that no other of them continues. Every other root run among them is one that it continues.
 * @throws QuaestorError `JOURNAL_INVALID` when the root runs are not one chain
 */
export function newestRoot(rows: Pick<TreeRows, 'runs'>): Row {
  const roots = rows.runs.filter(({ id, root_run_id }) => id === root_run_id);
  const continued = new Set(roots.map(({ resumed_from }) => resumed_from as string | null));
  const [newest, ...others] = roots.filter(({ id }) => !continued.has(id as string));
  const links = roots.filter(({ resumed_from }) => resumed_from !== null && resumed_from !== undefined);
  const isOneChain = others.length === 0 && links.length === roots.length - 1 && links.every((link) => roots.some(({ id }) => id === link.resumed_from));
  if (newest && isOneChain) return newest;
  throw new QuaestorError('JOURNAL_INVALID', 'The root runs do not continue one another.');
}
