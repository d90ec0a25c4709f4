import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

const ID = 'VARCHAR(48) CHARACTER SET ascii COLLATE ascii_bin';
const CHARSET = 'ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/** Name and definition of what each table gets. `carried` is what the runs before a successor had spent; `released_at` when the tenant got the rest back. */
const COLUMNS: Record<string, Record<string, string>> = {
  budgets: {
    carried_microcredits: 'BIGINT UNSIGNED NOT NULL DEFAULT 0',
    forecast_microcredits: 'BIGINT UNSIGNED NOT NULL DEFAULT 0',
    released_at: 'DATETIME(3) NULL',
  },
  runs: { host_policy: 'TEXT NULL' },
  attempts: { reasoning_tokens: 'INT UNSIGNED NOT NULL DEFAULT 0' },
};

/**
 * A tenant's quota. A root run holds its whole limit from acceptance to its end, so that no turn touches this row and the promise of the
 * run's own ledger carries over: held and spent never exceed the limit. NULL is no limit.
 */
const TENANT_BUDGETS = `CREATE TABLE IF NOT EXISTS tenant_budgets (
    tenant_id ${ID} NOT NULL PRIMARY KEY,
    limit_microcredits BIGINT UNSIGNED NULL,
    held_microcredits BIGINT UNSIGNED NOT NULL DEFAULT 0,
    spent_microcredits BIGINT UNSIGNED NOT NULL DEFAULT 0,
    overrun_microcredits BIGINT UNSIGNED NOT NULL DEFAULT 0,
    CONSTRAINT tenant_budgets_never_overdrawn CHECK (limit_microcredits IS NULL OR held_microcredits + spent_microcredits <= limit_microcredits)
  ) ${CHARSET}`;

const SETTLE_ENDED_RUNS = `UPDATE budgets b JOIN runs r ON r.id = b.root_run_id SET b.released_at = r.ended_at
  WHERE b.released_at IS NULL AND b.reserved_microcredits = 0 AND r.ended_at IS NOT NULL`;

const FIRST_TENANT_ROWS = `INSERT IGNORE INTO tenant_budgets (tenant_id, held_microcredits, spent_microcredits, overrun_microcredits)
  SELECT tenant_id, SUM(IF(released_at IS NULL, limit_microcredits, 0)), SUM(IF(released_at IS NULL, 0, spent_microcredits)), SUM(IF(released_at IS NULL, 0, overrun_microcredits))
  FROM budgets GROUP BY tenant_id`;

/** What successors, quotas, forecasts and host policies need. A killed migration starts over: what exists already is left alone. */
export class Budget1700000005000 implements MigrationInterface {
  name = 'Budget1700000005000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await addColumns(queryRunner, COLUMNS);
    const index = (await queryRunner.query(`SHOW INDEX FROM budgets WHERE Key_name = 'budgets_tenant'`)) as unknown[];
    if (index.length === 0) await queryRunner.query('ALTER TABLE budgets ADD KEY budgets_tenant (tenant_id)');
    await queryRunner.query(TENANT_BUDGETS);
    await queryRunner.query(SETTLE_ENDED_RUNS);
    await queryRunner.query(FIRST_TENANT_ROWS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE IF EXISTS tenant_budgets');
    await queryRunner.query('ALTER TABLE budgets DROP KEY budgets_tenant');
    await dropColumns(queryRunner, COLUMNS);
  }
}
