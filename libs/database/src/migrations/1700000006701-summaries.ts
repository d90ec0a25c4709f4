import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

const COLUMNS = { attempts: { summary: 'MEDIUMTEXT NULL' } };

/** What a model call of kind `summary` wrote in the place of groups that were left out. A killed migration starts over. */
export class Summaries1700000006701 implements MigrationInterface {
  name = 'Summaries1700000006701';

  up(queryRunner: QueryRunner): Promise<void> {
    return addColumns(queryRunner, COLUMNS);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return dropColumns(queryRunner, COLUMNS);
  }
}
