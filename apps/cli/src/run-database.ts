import { QuaestorError, type RunId } from '#contracts';
import type { Sql } from '#database';
import { startLocalServices } from '#platform';
import type { CommandContext } from './context.ts';
import { withDatabase } from './docs-folder.ts';
import { listRunRecords, readRunRecord, readStackRecord } from './records.ts';
import { chooseWorkspace } from './session.ts';

export interface DatabaseOption {
  /** `mysql://user:password@host:port/name` */
  database?: string;
}

/**
 * Does `work` on the database that has a run: the named one, else the one in which this machine left it, else that of the stack that runs
 * here. The private server is started for it where that is needed, and stopped again.
 * @throws QuaestorError `NOT_FOUND`, `DATABASE_UNREACHABLE`, `DATABASE_UNSUITABLE`
 */
export async function withRunDatabase<Value>(context: CommandContext, { database }: DatabaseOption, runId: RunId, work: (sql: Sql) => Promise<Value>): Promise<Value> {
  const named = database ?? context.config.DATABASE_URL;
  const local = localDatabase(context, runId);
  if (named && (database || !local)) return onDatabase(named, work);
  if (!local) throw new QuaestorError('NOT_FOUND', `No run ${runId} is known here: name the database that has it with --database or DATABASE_URL.`);
  return withLocalDatabase(context, local, work);
}

export interface TenantsDatabaseOption extends DatabaseOption {
  /** Document folder whose database is meant. */
  docs?: string;
}

/**
 * Does `work` on the database of all tenants: the named one, else that of the stack that runs here, of the document folder, or `DATABASE_URL`.
 * @throws QuaestorError `DATABASE_UNREACHABLE`, `DATABASE_UNSUITABLE`, `DOCS_FOLDER_INVALID`
 */
export async function withTenantsDatabase<Value>(context: CommandContext, { database, docs }: TenantsDatabaseOption, work: (sql: Sql) => Promise<Value>): Promise<Value> {
  const { config } = context;
  if (database) return onDatabase(database, work);
  const local = readStackRecord(config.QUAESTOR_DIRECTORY)?.database ?? (await chooseWorkspace(config, docs)).database;
  if (local !== null) return withLocalDatabase(context, local, work);
  return config.DATABASE_URL ? onDatabase(config.DATABASE_URL, work) : withLocalDatabase(context, 'quaestor', work);
}

/** Does `work` on a database of the private server, which is started for it where it does not run. */
export async function withLocalDatabase<Value>({ config, log }: CommandContext, name: string, work: (sql: Sql) => Promise<Value>): Promise<Value> {
  if (config.DATABASE_URL) return onDatabase(withDatabase(config.DATABASE_URL, name), work);
  const services = await startLocalServices({ directory: config.QUAESTOR_DIRECTORY, log });
  try {
    return await onDatabase(withDatabase(services.databaseUrl, name), work);
  } finally {
    await services.stop();
  }
}

/** Does `work` on one open database and closes it. Brings its schema up to date first, because everything here reads whole rows. */
export async function onDatabase<Value>(url: string, work: (sql: Sql) => Promise<Value>): Promise<Value> {
  const { migrateDatabase, openDataSource, Sql } = await import('#database');
  await migrateDatabase(url);
  const dataSource = await openDataSource({ url, connectionLimit: 2 });
  try {
    return await work(new Sql(dataSource));
  } finally {
    await dataSource.destroy();
  }
}

function localDatabase({ config }: CommandContext, runId: RunId): string | undefined {
  const directory = config.QUAESTOR_DIRECTORY;
  return readRunRecord(directory, runId)?.database ?? readStackRecord(directory)?.database ?? onlyDatabase(directory);
}

/** Where all runs of this machine are in one database, a worker's run is in it too. */
function onlyDatabase(directory: string): string | undefined {
  const names = new Set(listRunRecords(directory).map((record) => record.database));
  return names.size === 1 ? [...names][0] : undefined;
}
