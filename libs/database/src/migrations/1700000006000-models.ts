import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Name and definition of what each table gets: who wrote an answer and what only that vendor gets back, and why an attempt was not made
 * with the first model of its role.
 */
const COLUMNS: Record<string, Record<string, string>> = {
  messages: { vendor: 'VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL', replay: 'MEDIUMTEXT NULL' },
  attempts: { fallback_reason: 'VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL' },
};

/** What several models in one run need beyond the core. A killed migration starts over: a column that exists already is left alone. */
export class Models1700000006000 implements MigrationInterface {
  name = 'Models1700000006000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const [table, columns] of Object.entries(COLUMNS)) {
      for (const [column, definition] of Object.entries(columns)) {
        if (!(await queryRunner.hasColumn(table, column))) await queryRunner.query(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`);
      }
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const [table, columns] of Object.entries(COLUMNS)) {
      for (const column of Object.keys(columns)) {
        if (await queryRunner.hasColumn(table, column)) await queryRunner.query(`ALTER TABLE ${table} DROP COLUMN ${column}`);
      }
    }
  }
}
