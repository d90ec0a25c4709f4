import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import mysql from 'mysql2/promise';
import { migrateDatabase } from '#database';
import { startLocalServices, statusLocalServices, type LocalServices } from '#platform';

/** Root of the repository, from the sources as from the build. */
const repositoryRoot = (): string => {
  const here = fileURLToPath(import.meta.url);
  const marker = here.includes('/dist/libs/testing/') ? '/dist/libs/testing/' : '/libs/testing/';
  return here.slice(0, here.lastIndexOf(marker));
};

/** Folder of the private Redis and MariaDB that all tests share. */
export const testServicesDirectory = (): string => `${repositoryRoot()}/.local/test`;

let services: Promise<LocalServices> | undefined;

/**
 * The shared private Redis and MariaDB of all tests, started on first use; `REDIS_URL` and `DATABASE_URL` win. They stay up for the next
 * test file: `leaveTestServices` in a global teardown stops them when nobody else uses them.
 */
export const testServices = (): Promise<LocalServices> => (services ??= startLocalServices({ directory: testServicesDirectory() }));

/** Stops the shared services unless another living process uses them. Starts nothing. Safe to repeat. */
export async function leaveTestServices(): Promise<void> {
  const directory = testServicesDirectory();
  const running = (await statusLocalServices(directory)).some((service) => service.running);
  if (!running) return;
  const joined = await startLocalServices({ directory });
  await joined.stop();
}

export interface TestDatabase {
  /** `DATABASE_URL` of an empty, migrated database. */
  url: string;
  redisUrl: string;
  /** Removes the database. Safe to repeat. */
  drop(): Promise<void>;
}

/** A fresh database of its own, migrated, on the shared server. Its incarnation keeps its queues apart from all others in one Redis. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { databaseUrl, redisUrl } = await testServices();
  const url = new URL(databaseUrl);
  const name = `test_${randomBytes(6).toString('hex')}`;
  url.pathname = `/${name}`;
  await migrateDatabase(url.toString());
  return { url: url.toString(), redisUrl, drop: () => dropDatabase(databaseUrl, name) };
}

async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  const connection = await mysql.createConnection(serverUrl);
  try {
    await connection.query(`DROP DATABASE IF EXISTS \`${name}\``);
  } finally {
    await connection.end();
  }
}
