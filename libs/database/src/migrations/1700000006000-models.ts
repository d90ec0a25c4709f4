import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

/**
 * Name and definition of what each table gets: who wrote an answer and what only that vendor gets back, and why an attempt was not made
 * with the first model of its role.
 */
const COLUMNS: Record<string, Record<string, string>> = {
  messages: { vendor: 'VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL', replay: 'MEDIUMTEXT NULL' },
  attempts: { fallback_reason: 'VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL' },
};

/** What several models in one run need beyond the core. */
export class Models1700000006000 implements MigrationInterface {
  name = 'Models1700000006000';

  up(queryRunner: QueryRunner): Promise<void> {
    return addColumns(queryRunner, COLUMNS);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return dropColumns(queryRunner, COLUMNS);
  }
}
