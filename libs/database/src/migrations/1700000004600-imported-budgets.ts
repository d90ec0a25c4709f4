import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Marks the budgets of imported runs, whose cost was paid elsewhere and counts against no quota. Those that were imported before stay counted,
 * as nothing tells them apart. A killed migration starts over: a column that exists already is left alone.
 */
export class ImportedBudgets1700000004600 implements MigrationInterface {
  name = 'ImportedBudgets1700000004600';

  async up(queryRunner: QueryRunner): Promise<void> {
    if (!(await queryRunner.hasColumn('budgets', 'imported'))) await queryRunner.query('ALTER TABLE budgets ADD COLUMN imported TINYINT UNSIGNED NOT NULL DEFAULT 0');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    if (await queryRunner.hasColumn('budgets', 'imported')) await queryRunner.query('ALTER TABLE budgets DROP COLUMN imported');
  }
}
