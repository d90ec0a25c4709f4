import type { TenantId } from '#contracts';
import type { PastRun } from '#domain';
import type { Sql } from '../sql.ts';

const PAST_RUNS_MAX = 50;

/** What ended runs have used, for forecasts. Every query carries the tenant. */
export class EstimateRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The newest runs of a tenant that ended with a report, at most 50; parts of runs, such as successors and forks, are left out. Reads only. */
  async pastRuns(tenantId: TenantId): Promise<PastRun[]> {
    const rows = await this.#sql.rows(
      `SELECT b.spent_microcredits + b.overrun_microcredits AS microcredits,
          (SELECT COUNT(*) FROM reservations v WHERE v.root_run_id = newest.id AND v.operation = 'search') AS searches,
          (SELECT COUNT(*) FROM reservations v WHERE v.root_run_id = newest.id AND v.operation = 'read') AS page_reads,
          (SELECT COALESCE(SUM(a.input_tokens), 0) FROM attempts a WHERE a.root_run_id = newest.id) AS input_tokens,
          (SELECT COALESCE(SUM(a.output_tokens), 0) FROM attempts a WHERE a.root_run_id = newest.id) AS output_tokens
        FROM (SELECT id FROM runs WHERE tenant_id = ? AND role = 'supervisor' AND status IN ('completed', 'incomplete') AND resumed_from IS NULL
          AND forked_from IS NULL ORDER BY run_no DESC LIMIT ${PAST_RUNS_MAX}) newest
        JOIN budgets b ON b.root_run_id = newest.id`,
      [tenantId],
    );
    return rows.map((row) => ({
      searches: Number(row.searches),
      reads: Number(row.page_reads),
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
      microcredits: Number(row.microcredits),
    }));
  }
}
