import { QuaestorError } from '#contracts';
import type { Sql } from './sql.ts';

/** The database's own name for this life of its data; part of every queue key. `DATABASE_UNSUITABLE` when it was never migrated. */
export async function readIncarnation(sql: Sql): Promise<string> {
  try {
    const rows = await sql.rows(`SELECT value FROM meta WHERE name = 'incarnation'`);
    if (rows[0]) return rows[0].value as string;
  } catch (cause) {
    throw new QuaestorError('DATABASE_UNSUITABLE', 'The database has no schema yet: run "npm run migrate" first.', { cause });
  }
  throw new QuaestorError('DATABASE_UNSUITABLE', 'The database was not fully migrated: run "npm run migrate" again.');
}
