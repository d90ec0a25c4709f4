import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a prompt was thought to take, and the turns before which its pages were folded: what is folded stays folded when a run goes on elsewhere. */
const COLUMNS: Record<string, string> = {
  prompt_tokens: 'INT UNSIGNED NULL',
  prompt_folds: 'TEXT CHARACTER SET ascii COLLATE ascii_bin NULL',
};

/** A killed migration starts over: a column that exists already is left alone. */
export class Prompts1700000006500 implements MigrationInterface {
  name = 'Prompts1700000006500';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const [column, definition] of Object.entries(COLUMNS)) {
      if (!(await queryRunner.hasColumn('attempts', column))) await queryRunner.query(`ALTER TABLE attempts ADD COLUMN ${column} ${definition}`);
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const column of Object.keys(COLUMNS)) {
      if (await queryRunner.hasColumn('attempts', column)) await queryRunner.query(`ALTER TABLE attempts DROP COLUMN ${column}`);
    }
  }
}
