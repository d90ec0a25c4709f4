import { QuaestorError, type TenantId } from '#contracts';
import { isRefusedCondition } from '../sql-failure.ts';
import type { Row, Sql } from '../sql.ts';

/** A tenant's quota and what counts against it, in microcredits. Without a limit there is no quota. */
export interface Quota {
  tenantId: TenantId;
  name: string;
  limit: number | null;
  /** Of living runs: each holds its whole budget until it ends. */
  held: number;
  spent: number;
  overrun: number;
}

/** Quotas, for operators: this is the one place that sees all tenants. */
export class QuotaRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Of the tenant with this id or name, or of all tenants, oldest first. Throws `NOT_FOUND`. */
  async list(tenant?: string): Promise<Quota[]> {
    const rows = await this.#sql.rows(
      `SELECT t.id, t.name, b.limit_microcredits, b.held_microcredits, b.spent_microcredits, b.overrun_microcredits FROM tenants t
        LEFT JOIN tenant_budgets b ON b.tenant_id = t.id WHERE ? IS NULL OR t.id = ? OR t.name = ? ORDER BY t.created_at, t.id`,
      [tenant ?? null, tenant ?? null, tenant ?? null],
    );
    if (tenant !== undefined && rows.length === 0) throw new QuaestorError('NOT_FOUND', `There is no tenant "${tenant}".`);
    return rows.map(readQuota);
  }

  /**
   * Sets what a tenant may spend in all, past spending included; null takes the limit away. Holds from the next run on, at once. Safe to
   * repeat. Throws `NOT_FOUND`, and `INVALID_REQUEST` when the name fits several tenants or more than the limit is held or spent already.
   */
  async set(tenant: string, limit: number | null): Promise<Quota> {
    const [quota, ...others] = await this.list(tenant);
    if (quota === undefined || others.length > 0) throw new QuaestorError('INVALID_REQUEST', `Several tenants are named "${tenant}": name one by its id.`);
    try {
      await this.#sql.change(
        'INSERT INTO tenant_budgets (tenant_id, limit_microcredits) VALUES (?, ?) ON DUPLICATE KEY UPDATE limit_microcredits = VALUES(limit_microcredits)',
        [quota.tenantId, limit],
      );
    } catch (error) {
      if (!isRefusedCondition(error)) throw error;
      throw new QuaestorError('INVALID_REQUEST', 'The tenant holds or has spent more than that already: set a higher quota, or wait until its runs have ended.', { cause: error });
    }
    return { ...quota, limit };
  }
}

const readQuota = (row: Row): Quota => ({
  tenantId: row.id as TenantId,
  name: row.name as string,
  limit: row.limit_microcredits === null ? null : Number(row.limit_microcredits),
  held: Number(row.held_microcredits ?? 0),
  spent: Number(row.spent_microcredits ?? 0),
  overrun: Number(row.overrun_microcredits ?? 0),
});
