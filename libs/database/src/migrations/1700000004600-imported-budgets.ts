import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

const COLUMNS = { budgets: { imported: 'TINYINT UNSIGNED NOT NULL DEFAULT 0' } };

/**
 * Marks the budgets of imported runs, whose cost was paid elsewhere and counts against no quota. Those that were imported before stay counted,
 * as nothing tells them apart. A killed migration starts over: a column that exists already is left alone.
 */
export class ImportedBudgets1700000004600 implements MigrationInterface {
  name = 'ImportedBudgets1700000004600';

  up(queryRunner: QueryRunner): Promise<void> {
    return addColumns(queryRunner, COLUMNS);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return dropColumns(queryRunner, COLUMNS);
  }
}
