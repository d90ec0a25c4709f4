import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

const COLUMNS = { attempts: { prompt_cut: 'INT UNSIGNED NULL' } };

/** Where the history was cut for a prompt: a cut stays where it is when a run goes on elsewhere. A killed migration starts over. */
export class PromptCuts1700000006700 implements MigrationInterface {
  name = 'PromptCuts1700000006700';

  up(queryRunner: QueryRunner): Promise<void> {
    return addColumns(queryRunner, COLUMNS);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return dropColumns(queryRunner, COLUMNS);
  }
}
