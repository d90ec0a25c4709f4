import mysql from 'mysql2/promise';
import { randomUUID } from 'node:crypto';
import { openDataSource, withoutSecret } from './data-source.ts';
import { QuaestorError } from '#contracts';

const LOCK_SECONDS = 60;

/**
 * Brings a database up to date: creates it when missing (if the user may), runs open migrations and stamps its incarnation. Two
 * processes that migrate at once take turns (named lock). Safe to repeat.
 */
export async function migrateDatabase(url: string): Promise<void> {
  await createDatabase(url);
  const lock = await mysql.createConnection(url);
  try {
    const [rows] = await lock.query("SELECT GET_LOCK(CONCAT('quaestor_migrate_', DATABASE()), ?) AS taken", [LOCK_SECONDS]);
    if ((rows as { taken: number }[])[0]?.taken !== 1) {
      throw new QuaestorError('DATABASE_UNREACHABLE', `Another process has been migrating the database for ${LOCK_SECONDS} s: try again when it is done.`);
    }
    const dataSource = await openDataSource({ url, connectionLimit: 2 });
    try {
      await dataSource.runMigrations({ transaction: 'none' });
      await dataSource.query("INSERT IGNORE INTO meta (name, value) VALUES ('incarnation', ?)", [randomUUID().slice(0, 8)]);
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await lock.end();
  }
}

async function createDatabase(url: string): Promise<void> {
  const target = new URL(url);
  const name = decodeURIComponent(target.pathname.slice(1));
  if (!/^[A-Za-z0-9_]{1,64}$/.test(name)) {
    throw new QuaestorError('CONFIG_INVALID', `DATABASE_URL must end in a database name of letters, digits and underscores, not "${name}".`);
  }
  const server = new URL(url);
  server.pathname = '/';
  try {
    const connection = await mysql.createConnection(server.toString());
    try {
      await connection.query(`CREATE DATABASE IF NOT EXISTS \`${name}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
    } finally {
      await connection.end();
    }
  } catch (error) {
    // a user without the right to create may still use a database that exists; opening it decides
    if (isAccessDenied(error)) return;
    const reason = error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code : String(error);
    throw new QuaestorError('DATABASE_UNREACHABLE', `The database at ${withoutSecret(url)} cannot be used (${reason}): check DATABASE_URL and that the server runs.`, { cause: error });
  }
}

const isAccessDenied = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'errno' in error && (error.errno === 1044 || error.errno === 1045);
