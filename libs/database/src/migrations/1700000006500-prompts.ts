import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

/** What a prompt was thought to take, and the turns before which its pages were folded: what is folded stays folded when a run goes on elsewhere. */
const COLUMNS = {
  attempts: {
    prompt_tokens: 'INT UNSIGNED NULL',
    prompt_folds: 'TEXT CHARACTER SET ascii COLLATE ascii_bin NULL',
  },
};

export class Prompts1700000006500 implements MigrationInterface {
  name = 'Prompts1700000006500';

  up(queryRunner: QueryRunner): Promise<void> {
    return addColumns(queryRunner, COLUMNS);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return dropColumns(queryRunner, COLUMNS);
  }
}
