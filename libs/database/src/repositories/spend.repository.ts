import type { SpendView, TenantId } from '#contracts';
import { creditsOf } from '#domain';
import { rowsOf, type Sql } from '../sql.ts';

/** What tenants have spent. Every query carries the tenant. */
export class SpendRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Charges by operation, those of living runs included; the quota counts a living run as held. An imported run was paid for elsewhere. */
  async of(tenantId: TenantId): Promise<SpendView> {
    const outcomes = await this.#sql.batch([
      { sql: 'SELECT limit_microcredits, held_microcredits, spent_microcredits, overrun_microcredits FROM tenant_budgets WHERE tenant_id = ?', values: [tenantId] },
      {
        sql: `SELECT v.operation, COUNT(*) AS calls, SUM(v.charge_microcredits) AS charged, SUM(v.overrun_microcredits) AS overruns,
          SUM(IF(v.state = 'unknown', v.charge_microcredits, 0)) AS unknown_charge FROM budgets b JOIN reservations v ON v.root_run_id = b.root_run_id
          WHERE b.tenant_id = ? AND b.imported = 0 AND v.state <> 'open' GROUP BY v.operation ORDER BY v.operation`,
        values: [tenantId],
      },
    ]);
    const quota = rowsOf(outcomes, 0)[0];
    const figure = (name: string): number => Number(quota?.[`${name}_microcredits`] ?? 0);
    const limit = typeof quota?.limit_microcredits === 'undefined' || quota.limit_microcredits === null ? null : figure('limit');
    return {
      object: 'spend',
      quota: {
        limit: limit === null ? null : creditsOf(limit),
        held: creditsOf(figure('held')),
        spent: creditsOf(figure('spent')),
        overruns: creditsOf(figure('overrun')),
        left: limit === null ? null : creditsOf(limit - figure('held') - figure('spent')),
      },
      cost: null,
      operations: rowsOf(outcomes, 1).map((row) => ({
        operation: row.operation as string,
        calls: Number(row.calls),
        credits: creditsOf(Number(row.charged)),
        overruns: creditsOf(Number(row.overruns)),
        unknown_credits: creditsOf(Number(row.unknown_charge)),
      })),
    };
  }
}
