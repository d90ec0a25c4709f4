import { mapIdsIn, type IdMap } from '#domain';
import type { TenantId } from '#contracts';
import type { Row } from '../sql.ts';
import { TREE_TABLE_NAMES, type TreeRows, type TreeTable } from './tree-rows.ts';

/** Numbers that the database gives out itself, in the order in which rows are inserted. */
const GIVEN_NUMBERS: ReadonlySet<string> = new Set(['run_no', 'sequence_no', 'source_no']);
/** The provider's own ids go back to it byte for byte. */
const VERBATIM: ReadonlySet<string> = new Set(['provider_call_id', 'tenant_id', 'forked_from']);
/** JSON columns, and the members in them that are ids; every other text in them stays as it is, byte for byte. */
const JSON_IDS: Partial<Record<TreeTable, Record<string, RegExp>>> = {
  tool_calls: { result: membersOf('sourceId', 'workerRunId') },
  runs: { citations: membersOf('sourceId') },
  run_events: { body: membersOf('source_id', 'run_id', 'assistant_id') },
};

/** Rows of a tree under new ids and of another tenant, ready to be inserted. Texts, times and the provider's ids stay byte for byte. */
export function movedRows(rows: TreeRows, map: IdMap, tenantId: TenantId): TreeRows {
  return Object.fromEntries(TREE_TABLE_NAMES.map((table) => [table, rows[table].map((row) => movedRow(table, row, map, tenantId))])) as TreeRows;
}

function movedRow(table: TreeTable, row: Row, map: IdMap, tenantId: TenantId): Row {
  const moved: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    if (GIVEN_NUMBERS.has(column)) continue;
    moved[column] = column === 'tenant_id' ? tenantId : movedValue(table, column, value, map);
  }
  return moved as Row;
}

function movedValue(table: TreeTable, column: string, value: unknown, map: IdMap): unknown {
  if (typeof value !== 'string' || VERBATIM.has(column)) return value;
  const members = JSON_IDS[table]?.[column];
  if (members) return value.replace(members, (member) => mapIdsIn(member, map));
  if (column === 'effect_key') return mapIdsIn(value, map);
  return column === 'id' || column.endsWith('_id') || column === 'resumed_from' ? map(value) : value;
}

/** A member inside a text of the JSON has its quotes escaped, so that it is never taken for one of these. */
function membersOf(...names: string[]): RegExp {
  return new RegExp(`"(?:${names.join('|')})":"[^"\\\\]*"`, 'g');
}
