import type { QueryRunner } from 'typeorm';

/** Columns that a migration adds: table, then column, then definition. */
export type AddedColumns = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A killed migration starts over: a column that exists already is left alone. Safe to repeat. */
export async function addColumns(queryRunner: QueryRunner, added: AddedColumns): Promise<void> {
  for (const [table, columns] of Object.entries(added)) {
    for (const [column, definition] of Object.entries(columns)) {
      if (!(await queryRunner.hasColumn(table, column))) await queryRunner.query(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`);
    }
  }
}

/** Safe to repeat. */
export async function dropColumns(queryRunner: QueryRunner, added: AddedColumns): Promise<void> {
  for (const [table, columns] of Object.entries(added)) {
    for (const column of Object.keys(columns)) {
      if (await queryRunner.hasColumn(table, column)) await queryRunner.query(`ALTER TABLE ${table} DROP COLUMN ${column}`);
    }
  }
}
