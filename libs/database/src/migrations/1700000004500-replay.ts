import type { MigrationInterface, QueryRunner } from 'typeorm';

const ID = 'VARCHAR(48) CHARACTER SET ascii COLLATE ascii_bin';

/** Name and definition of what each table gets: what an attempt's prompt was built with, and what a run was forked from. */
const COLUMNS: Record<string, Record<string, string>> = {
  attempts: {
    prompt_sha256: 'CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL',
    prompt_tokens_max: 'INT UNSIGNED NULL',
    page_chars: 'INT UNSIGNED NULL',
  },
  runs: { forked_from: `${ID} NULL`, forked_turn: 'INT UNSIGNED NULL' },
};

/** What a replay needs beyond the core. A killed migration starts over: a column that exists already is left alone. */
export class Replay1700000004500 implements MigrationInterface {
  name = 'Replay1700000004500';

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
