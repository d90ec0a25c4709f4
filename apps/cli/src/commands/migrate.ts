import { startLocalServices } from '#platform';
import type { CommandContext } from '../context.ts';

/** Brings the database up to date: the one of `DATABASE_URL`, else the private one. Safe to repeat. */
export async function migrate({ config, terminal, log }: CommandContext): Promise<number> {
  const { migrateDatabase } = await import('#database');
  if (config.DATABASE_URL) {
    await migrateDatabase(config.DATABASE_URL);
  } else {
    const local = await startLocalServices({ directory: config.QUAESTOR_DIRECTORY, log });
    try {
      await migrateDatabase(local.databaseUrl);
    } finally {
      await local.stop();
    }
  }
  terminal.note('The database is up to date.');
  return 0;
}
