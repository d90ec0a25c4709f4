import type { RunStatus } from '#contracts';
import type { Sql } from '../sql.ts';

/** Runs that have not ended, of all tenants, roots and workers. */
export interface RunCensus {
  counts: { status: LiveStatus; runs: number }[];
  /** How long the oldest root run has waited to be taken for the first time, seconds; 0 when none waits. */
  oldestQueuedSeconds: number;
}

export const LIVE_STATUSES = ['queued', 'running', 'waiting'] as const satisfies RunStatus[];
export type LiveStatus = (typeof LIVE_STATUSES)[number];

/** Counts for an operator: one query over the runs that live, whatever the table holds. */
export class RunCensusRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Every live status is there, with 0 when no run has it. */
  async take(): Promise<RunCensus> {
    // a worker run that waits for a free place among its siblings is queued on purpose, and says nothing about an absent process
    const rows = await this.#sql.rows(
      `SELECT status, COUNT(*) AS runs,
        TIMESTAMPDIFF(MICROSECOND, MIN(CASE WHEN status = 'queued' AND parent_run_id IS NULL THEN created_at END), NOW(3)) AS oldest_microseconds
        FROM runs WHERE status IN (?) GROUP BY status`,
      [[...LIVE_STATUSES]],
    );
    const ofStatus = new Map(rows.map((row) => [row.status as string, row]));
    return {
      counts: LIVE_STATUSES.map((status) => ({ status, runs: Number(ofStatus.get(status)?.runs ?? 0) })),
      oldestQueuedSeconds: Math.max(0, Number(ofStatus.get('queued')?.oldest_microseconds ?? 0) / 1_000_000),
    };
  }
}
