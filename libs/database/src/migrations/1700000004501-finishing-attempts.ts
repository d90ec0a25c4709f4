import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

const COLUMNS = { attempts: { finishing: 'TINYINT(1) NOT NULL DEFAULT 0' } };

/** Which attempts were a stopped run's finishing call: its place in the turn does not tell, because a reservation of that place may exist. */
export class FinishingAttempts1700000004501 implements MigrationInterface {
  name = 'FinishingAttempts1700000004501';

  up(queryRunner: QueryRunner): Promise<void> {
    return addColumns(queryRunner, COLUMNS);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return dropColumns(queryRunner, COLUMNS);
  }
}
