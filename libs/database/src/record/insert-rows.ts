import type { Row, SqlValue, Statement, Transaction } from '../sql.ts';
import { TREE_TABLE_NAMES, type TreeRows } from './tree-rows.ts';

/** Values of one packet: bodies and streams are megabytes, and a packet has its limit. */
const PACKET_BYTES = 1024 * 1024;

/** Inserts every row of a tree; nobody sees any of them before the transaction is committed. */
export async function insertTreeRows(tx: Transaction, rows: TreeRows): Promise<void> {
  let packet: Statement[] = [];
  let bytes = 0;
  for (const table of TREE_TABLE_NAMES) {
    for (const row of rows[table]) {
      packet.push(insertOf(table, row));
      bytes += sizeOf(row);
      if (bytes < PACKET_BYTES) continue;
      await tx.batch(packet);
      [packet, bytes] = [[], 0];
    }
  }
  if (packet.length > 0) await tx.batch(packet);
}

function insertOf(table: string, row: Row): Statement {
  const columns = Object.keys(row);
  return { sql: `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`, values: Object.values(row) as SqlValue[] };
}

const sizeOf = (row: Row): number => Object.values(row).reduce<number>((sum, value) => sum + (typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 8), 0);
