import { DataSource } from 'typeorm';
import { format, type ConnectionOptions, type Pool, type PoolConnection } from 'mysql2';
import { QuaestorError } from '#contracts';
import { MIGRATIONS } from './migrations/index.ts';

export const SESSION_SETTINGS = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  "SET SESSION time_zone = '+00:00'",
  'SET SESSION innodb_lock_wait_timeout = 5',
].join(';');

export interface DatabaseOptions {
  /** `mysql://user:password@host:port/database` */
  url: string;
  /** Connections of this process. Default 10. */
  connectionLimit?: number;
}

/** A TypeORM data source with our session settings on each connection: READ COMMITTED, UTC, short lock waits. Not yet connected. */
export function createDataSource(options: DatabaseOptions): DataSource {
  return new DataSource({
    type: 'mysql',
    url: options.url,
    entities: [],
    migrations: MIGRATIONS,
    migrationsTransactionMode: 'none',
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true,
    extra: { connectionLimit: options.connectionLimit ?? 10, multipleStatements: true, idleTimeout: 600_000, enableKeepAlive: true, queryFormat },
  });
}

/** The driver scans a statement for placeholders even when it has no values left; ours arrive complete, and some are 100 KB. */
const queryFormat = (sql: string, values?: Parameters<typeof format>[1]): string =>
  values === undefined || (Array.isArray(values) && values.length === 0) ? sql : format(sql, values, false, 'Z');

/** The same for one connection of the driver's own; its session settings are the caller's to send first. */
export const connectionOptions = (url: string): ConnectionOptions => ({ uri: url, timezone: 'Z', supportBigNumbers: true, bigNumberStrings: true, multipleStatements: true, enableKeepAlive: true, queryFormat });

/** Connects, or throws `DATABASE_UNREACHABLE` / `DATABASE_UNSUITABLE` with one sentence. Safe to repeat. */
export async function openDataSource(options: DatabaseOptions): Promise<DataSource> {
  const dataSource = createDataSource(options);
  try {
    await dataSource.initialize();
  } catch (error) {
    throw unreachable(options.url, error);
  }
  const pool = (dataSource.driver as unknown as { pool: Pool }).pool;
  // queued before any statement of the caller on that connection, so it always runs first
  pool.on('connection', (connection: PoolConnection) => void connection.query(SESSION_SETTINGS));
  try {
    // the connection that `initialize` left in the pool came before the listener
    await dataSource.query(SESSION_SETTINGS);
    await refuseUnsuitable(dataSource);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
  return dataSource;
}

function unreachable(url: string, cause: unknown): QuaestorError {
  const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || cause.name : String(cause);
  return new QuaestorError('DATABASE_UNREACHABLE', `The database at ${withoutSecret(url)} cannot be used (${reason}): check DATABASE_URL and that the server runs.`, { cause });
}

/** Host, port and database of a URL, without user and password. */
export function withoutSecret(url: string): string {
  try {
    const parsed = new URL(url);
    return `${parsed.hostname}:${parsed.port || '3306'}${parsed.pathname}`;
  } catch {
    return 'DATABASE_URL';
  }
}

async function refuseUnsuitable(dataSource: DataSource): Promise<void> {
  const rows = (await dataSource.query(
    'SELECT @@GLOBAL.sql_mode AS mode, @@SESSION.sql_mode AS session_mode, @@character_set_database AS charset, VERSION() AS version',
  )) as { mode: string; session_mode: string; charset: string; version: string }[];
  const facts = rows[0];
  if (!facts) throw new QuaestorError('DATABASE_UNSUITABLE', 'The database did not answer about its settings.');
  if (!/STRICT_(TRANS|ALL)_TABLES/.test(facts.session_mode)) {
    throw new QuaestorError('DATABASE_UNSUITABLE', 'The database is not in strict mode: add STRICT_TRANS_TABLES to its sql_mode, or values would be cut silently.');
  }
  if (facts.charset !== 'utf8mb4') {
    throw new QuaestorError('DATABASE_UNSUITABLE', `The database's character set is ${facts.charset}: run ALTER DATABASE ... CHARACTER SET utf8mb4.`);
  }
}
