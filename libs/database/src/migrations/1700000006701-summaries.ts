import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a model call of kind `summary` wrote in the place of groups that were left out. A killed migration starts over. */
export class Summaries1700000006701 implements MigrationInterface {
  name = 'Summaries1700000006701';

  async up(queryRunner: QueryRunner): Promise<void> {
    if (!(await queryRunner.hasColumn('attempts', 'summary'))) await queryRunner.query('ALTER TABLE attempts ADD COLUMN summary MEDIUMTEXT NULL');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    if (await queryRunner.hasColumn('attempts', 'summary')) await queryRunner.query('ALTER TABLE attempts DROP COLUMN summary');
  }
}
