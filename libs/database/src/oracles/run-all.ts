import { openDataSource } from '../data-source.ts';
import { rowsOf, Sql } from '../sql.ts';
import { ATTEMPT_ORACLES } from './attempt-oracles.ts';
import { CALL_ORACLES } from './call-oracles.ts';
import { EVIDENCE_ORACLES } from './evidence-oracles.ts';
import { LIVENESS_ORACLES } from './liveness-oracles.ts';
import { MONEY_ORACLES } from './money-oracles.ts';
import type { Oracle } from './oracle.ts';
import { PLACE_ORACLES } from './place-oracles.ts';
import { RUN_ORACLES } from './run-oracles.ts';
import { STREAM_ORACLES } from './stream-oracles.ts';

export interface OracleReport {
  /** Number of the promise in docs/invariants.md. */
  invariant: string;
  title: string;
  /** Rows that were looked at; an oracle over nothing proves nothing. */
  rows: number;
  violations: number;
  /** At most 5 of the offending rows, by id. */
  sample: string[];
}

export interface OracleOptions {
  /** The services are stopped: leave out what only holds while they run. Default false. */
  atRest?: boolean;
}

const SAMPLE_MAX = 5;
const ORACLES: Oracle[] = [...CALL_ORACLES, ...ATTEMPT_ORACLES, ...RUN_ORACLES, ...MONEY_ORACLES, ...PLACE_ORACLES, ...LIVENESS_ORACLES];

/**
 * Holds a database against every promise that its rows can answer, and reports on each, by number. Reads only; may run beside living
 * services. Safe to repeat.
 * @throws QuaestorError `DATABASE_UNREACHABLE`, `DATABASE_UNSUITABLE`
 */
export async function runOracles(databaseUrl: string, { atRest = false }: OracleOptions = {}): Promise<OracleReport[]> {
  const dataSource = await openDataSource({ url: databaseUrl, connectionLimit: 1 });
  try {
    const sql = new Sql(dataSource);
    const reports: OracleReport[] = [];
    for (const oracle of ORACLES) if (!(atRest && oracle.needsServices)) reports.push(await ask(sql, oracle));
    for (const { invariant, title, find } of [...EVIDENCE_ORACLES, ...STREAM_ORACLES]) {
      const { rows, violations } = await find(sql);
      reports.push({ invariant, title, rows, violations: violations.length, sample: violations.slice(0, SAMPLE_MAX) });
    }
    return reports.sort((left, right) => left.invariant.localeCompare(right.invariant));
  } finally {
    await dataSource.destroy();
  }
}

async function ask(sql: Sql, { invariant, title, rows, violations }: Oracle): Promise<OracleReport> {
  const outcomes = await sql.batch([
    { sql: `SELECT COUNT(*) AS total FROM ${rows}` },
    { sql: `SELECT v.sample, COUNT(*) OVER () AS violations FROM (${violations}) v LIMIT ${SAMPLE_MAX}` },
  ]);
  const found = rowsOf(outcomes, 1);
  return {
    invariant,
    title,
    rows: Number(rowsOf(outcomes, 0)[0]?.['total'] ?? 0),
    violations: Number(found[0]?.['violations'] ?? 0),
    sample: found.map((row) => String(row['sample'])),
  };
}
