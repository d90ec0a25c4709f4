import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where the history was cut for a prompt: a cut stays where it is when a run goes on elsewhere. A killed migration starts over. */
export class PromptCuts1700000006700 implements MigrationInterface {
  name = 'PromptCuts1700000006700';

  async up(queryRunner: QueryRunner): Promise<void> {
    if (!(await queryRunner.hasColumn('attempts', 'prompt_cut'))) await queryRunner.query('ALTER TABLE attempts ADD COLUMN prompt_cut INT UNSIGNED NULL');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    if (await queryRunner.hasColumn('attempts', 'prompt_cut')) await queryRunner.query('ALTER TABLE attempts DROP COLUMN prompt_cut');
  }
}
