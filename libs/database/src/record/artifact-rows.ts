import { QuaestorError } from '#contracts';
import { attemptEventData, headerRow, isObject, refuseSession, type SessionData } from '#domain';
import { compressText, decompressText } from '../compress.ts';
import type { Row } from '../sql.ts';
import { newestRoot, TREE_TABLE_NAMES, type TreeRows, type TreeTable } from './tree-rows.ts';

/** Columns that say something about one database only. */
const PLACE_COLUMNS: ReadonlySet<string> = new Set(['run_no', 'sequence_no', 'source_no', 'tenant_id', 'lease_owner', 'lease_expires_at', 'forked_from', 'imported']);

/**
 * An ended tree, and those it continues, as the rows of a version 2 session artifact: model attempts as settlements with their streams, in turns and steps, and
 * everything else as rows of this engine. Compressed columns are written out as text.
 */
export async function* artifactRowsOf(rows: TreeRows): AsyncGenerator<SessionData, void, undefined> {
  const root = newestRoot(rows);
  if (root.ended_at === null) throw new QuaestorError('INVALID_REQUEST', 'The run has not ended: cancel it, or wait until it has.');
  const createdAt = timeOf(root.created_at);
  yield headerRow({ id: root.id as string, createdAt, isSeeded: false, seedLength: null, delegationDepth: 0 });
  let seq = 0;
  const event = (type: string, time: number, data: SessionData): SessionData => ({ type, seq: seq++, time, data, ...(type === 'quaestor/row' ? { ignorable: true } : {}) });
  for (const table of TREE_TABLE_NAMES) {
    if (table !== 'attempts') for (const row of rows[table]) yield event('quaestor/row', createdAt, { table, values: await encoded(row) });
  }
  for (const run of rows.runs) {
    for (const [turn, attempts] of Map.groupBy(rows.attempts.filter(({ run_id }) => run_id === run.id), (row) => row.turn as number)) {
      yield event('turn/start', timeOf(attempts[0]?.started_at), { turn });
      for (const row of attempts) yield* attemptEvents(row, event);
      yield event('turn/end', timeOf(attempts.at(-1)?.settled_at), { turn, reason: { kind: 'completed' } });
    }
  }
}

async function* attemptEvents(row: Row, event: (type: string, time: number, data: SessionData) => SessionData): AsyncGenerator<SessionData, void, undefined> {
  const place = { turn: row.turn as number, step: row.attempt as number };
  const { stream, ...rest } = row;
  const records = stream === null ? [] : (JSON.parse(await decompressText(stream as Buffer, `attempt ${row.id}`)) as unknown[]);
  yield event('step/start', timeOf(row.started_at), place);
  yield event('quaestor/row', timeOf(row.settled_at), { table: 'attempts', values: await encoded(rest as Row) });
  const { type, data } = attemptEventData({ kind: row.kind === 'message' ? 'message' : 'attempt', interrupted: row.outcome === 'interrupted', provider: row.provider as string, model: row.model as string }, records);
  yield event(type, timeOf(row.settled_at), { ...place, ...data });
  yield event('step/end', timeOf(row.settled_at), place);
}

/**
 * Puts the rows of an artifact of this engine together again. The artifact must have been verified; what is checked here is that it names
 * only tables and columns that exist (`columns`), and values that fit them. `push` takes events in order. Throws `SESSION_INVALID`.
 */
export class ArtifactAssembler {
  readonly rows: TreeRows = Object.fromEntries(TREE_TABLE_NAMES.map((table) => [table, [] as Row[]])) as unknown as TreeRows;
  readonly #columns: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(columns: ReadonlyMap<string, ReadonlySet<string>>) {
    this.#columns = columns;
  }

  async push(event: { type: string; data: SessionData }, row: number): Promise<void> {
    if (event.type === 'quaestor/row') return this.#addRow(event.data, row);
    if (event.type !== 'assistant/message' && event.type !== 'assistant/attempt') return;
    const attempt = this.rows.attempts.at(-1);
    if (!attempt || attempt.stream !== undefined) return refuseSession(row, 'is a settlement without a row of its attempt before it');
    const stream = event.data['stream'] as unknown[];
    attempt.stream = stream.length === 0 ? null : await compressText(JSON.stringify(stream));
  }

  async #addRow({ table, values }: SessionData, row: number): Promise<void> {
    const columns = typeof table === 'string' && TREE_TABLE_NAMES.includes(table as TreeTable) ? this.#columns.get(table) : undefined;
    if (!columns) return refuseSession(row, `names a table ${JSON.stringify(table)} that no run has`);
    if (!isObject(values)) return refuseSession(row, 'has values that are not an object');
    const decoded: Record<string, unknown> = {};
    for (const [column, value] of Object.entries(values)) {
      if (!columns.has(column) || PLACE_COLUMNS.has(column)) refuseSession(row, `names a column ${JSON.stringify(column)} of ${String(table)} that this version does not know`);
      decoded[column] = await decodedValue(value, row);
    }
    this.rows[table as TreeTable].push({ ...(columns.has('tenant_id') ? { tenant_id: '' } : {}), ...decoded } as Row);
  }
}

async function encoded(row: Row): Promise<SessionData> {
  const values: SessionData = {};
  for (const [column, value] of Object.entries(row)) {
    if (PLACE_COLUMNS.has(column)) continue;
    if (value instanceof Date) values[column] = { time: value.toISOString() };
    else if (Buffer.isBuffer(value)) values[column] = { text: await decompressText(value, `column ${column}`) };
    else values[column] = value;
  }
  return values;
}

async function decodedValue(value: unknown, row: number): Promise<unknown> {
  if (value === null || typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value))) return value;
  if (isObject(value) && typeof value['text'] === 'string') return compressText(value['text']);
  if (isObject(value) && typeof value['time'] === 'string' && Number.isFinite(Date.parse(value['time']))) return new Date(value['time']);
  return refuseSession(row, 'has a value that no column holds');
}

const timeOf = (value: unknown): number => (value instanceof Date ? value.getTime() : 0);
