import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { migrateDatabase, openDataSource, Sql } from '#database';
import { startLocalServices } from '#platform';

export interface BenchStore {
  sql: Sql;
  /** Name and version of the server. */
  server: string;
  /** Another door to the same database, with connections of its own. */
  connect(connectionLimit: number): Promise<{ sql: Sql; close(): Promise<void> }>;
  stop(): Promise<void>;
}

/** A fresh, migrated database on the private server with durable defaults, or on the one that `DATABASE_URL` names. */
export async function startStore(connectionLimit: number): Promise<BenchStore> {
  const services = await startLocalServices({ directory: path.resolve('.local/bench'), log: (line) => process.stderr.write(`${line}\n`) });
  const url = new URL(services.databaseUrl);
  const name = `bench_${randomBytes(4).toString('hex')}`;
  url.pathname = `/${name}`;
  await migrateDatabase(url.toString());
  const connect = async (limit: number) => {
    const dataSource = await openDataSource({ url: url.toString(), connectionLimit: limit });
    return { sql: new Sql(dataSource), close: () => dataSource.destroy() };
  };
  const own = await connect(connectionLimit);
  const stop = async (): Promise<void> => {
    await own.sql.change(`DROP DATABASE ${name}`);
    await own.close();
    await services.stop();
  };
  const version = (await own.sql.rows('SELECT VERSION() AS version'))[0];
  return { sql: own.sql, server: String(version?.['version']), connect, stop };
}
