import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumns, dropColumns } from './columns.ts';

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

/** What a replay needs beyond the core. */
export class Replay1700000004500 implements MigrationInterface {
  name = 'Replay1700000004500';

  up(queryRunner: QueryRunner): Promise<void> {
    return addColumns(queryRunner, COLUMNS);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return dropColumns(queryRunner, COLUMNS);
  }
}
