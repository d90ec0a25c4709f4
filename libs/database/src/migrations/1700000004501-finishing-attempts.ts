import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which attempts were a stopped run's finishing call: its place in the turn does not tell, because a reservation of that place may exist. */
export class FinishingAttempts1700000004501 implements MigrationInterface {
  name = 'FinishingAttempts1700000004501';

  async up(queryRunner: QueryRunner): Promise<void> {
    if (!(await queryRunner.hasColumn('attempts', 'finishing'))) await queryRunner.query('ALTER TABLE attempts ADD COLUMN finishing TINYINT(1) NOT NULL DEFAULT 0');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    if (await queryRunner.hasColumn('attempts', 'finishing')) await queryRunner.query('ALTER TABLE attempts DROP COLUMN finishing');
  }
}
