import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The list of a tenant's runs in one status is read from an index, newest first, and not from all runs of the tenant. */
export class RunList1700000003000 implements MigrationInterface {
  name = 'RunList1700000003000';

  async up(queryRunner: QueryRunner): Promise<void> {
    // MySQL has no CREATE INDEX IF NOT EXISTS, and a migration that was killed after it starts over
    const found = (await queryRunner.query(
      `SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'runs' AND index_name = 'runs_tenant_status'`,
    )) as unknown[];
    if (found.length === 0) await queryRunner.query('CREATE INDEX runs_tenant_status ON runs (tenant_id, role, status, run_no)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP INDEX runs_tenant_status ON runs');
  }
}
