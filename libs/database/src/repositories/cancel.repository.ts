import { STOP_REASONS, type RunId, type TenantId } from '#contracts';
import type { OutboxJob, RunEnding } from '#domain';
import { endIdleRun } from '../journal/end-run.ts';
import type { Sql } from '../sql.ts';

const cancelledEnding = (isRoot: boolean): RunEnding => ({
  status: STOP_REASONS.cancelled.status,
  stopReason: 'cancelled',
  error: null,
  limitsHit: [],
  report: null,
  citations: null,
  delegationResult: isRoot ? null : { kind: 'error', code: 'RUN_CANCELLED', message: 'The run was cancelled before this task began.' },
  events: isRoot ? [{ type: 'run_status', status: 'cancelled', stop_reason: 'cancelled' }] : [],
});

/** Cancel is a column on the root run; runs that a process holds see it at their next heartbeat or commit. */
export class CancelRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Sets the flag once. False when the run is unknown to this tenant or has ended. Safe to repeat. */
  async request(tenantId: TenantId, rootRunId: RunId): Promise<boolean> {
    const { affectedRows } = await this.#sql.change(
      `UPDATE runs SET cancel_requested_at = COALESCE(cancel_requested_at, NOW(3)) WHERE id = ? AND root_run_id = id AND tenant_id = ? AND ended_at IS NULL`,
      [rootRunId, tenantId],
    );
    return affectedRows > 0;
  }

  /** Ends the runs of the tree that nobody holds; held ones end themselves. Returns jobs to send. Safe to repeat. */
  async endIdleRuns(rootRunId: RunId): Promise<OutboxJob[]> {
    const rows = await this.#sql.rows(
      `SELECT id, tenant_id FROM runs WHERE root_run_id = ? AND status IN ('queued', 'waiting') ORDER BY worker_number IS NULL, worker_number`,
      [rootRunId],
    );
    const jobs: OutboxJob[] = [];
    for (const row of rows) {
      const runId = row.id as RunId;
      const ended = await endIdleRun(this.#sql, { tenantId: row.tenant_id as TenantId, runId, rootRunId }, cancelledEnding(runId === rootRunId));
      if (ended) jobs.push(...ended.jobs);
    }
    return jobs;
  }
}
