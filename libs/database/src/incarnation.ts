import { QuaestorError } from '#contracts';
import type { Sql } from './sql.ts';

const NO_SUCH_TABLE = 1146;

/** The database's own name for this life of its data; part of every queue key. `DATABASE_UNSUITABLE` when it was never migrated. */
export async function readIncarnation(sql: Sql): Promise<string> {
  const rows = await sql.rows(`SELECT value FROM meta WHERE name = 'incarnation'`).catch((cause: unknown) => {
    if ((cause as { errno?: number }).errno !== NO_SUCH_TABLE) throw cause;
    throw new QuaestorError('DATABASE_UNSUITABLE', 'The database has no schema yet: run "npm run migrate" first.', { cause });
  });
  if (rows[0]) return rows[0].value as string;
  throw new QuaestorError('DATABASE_UNSUITABLE', 'The database was not fully migrated: run "npm run migrate" again.');
}

/** Often enough to leave a replaced database soon, and seldom enough to cost an idle process nothing. */
const WATCH_INTERVAL_MS = 2_000;

export interface IncarnationWatchOptions {
  sql: Sql;
  /** What this process has named its queues after. */
  incarnation: string;
  /** Default 2,000. */
  intervalMs?: number;
  /** Told once, with `DATABASE_REPLACED`; the watch is then over. */
  onReplaced(error: QuaestorError): void;
}

/** Looks again and again whether the database still is the one that this process started on. Returns how to stop. */
export function watchIncarnation({ sql, incarnation, intervalMs = WATCH_INTERVAL_MS, onReplaced }: IncarnationWatchOptions): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async (): Promise<void> => {
    // a database that is away or empty has no incarnation: only another one says that it was replaced
    const found = await readIncarnation(sql).catch(() => incarnation);
    if (isStopped) return;
    if (found === incarnation) arm();
    else onReplaced(replaced(incarnation, found));
  };
  const arm = (): void => {
    timer = setTimeout(() => void look(), intervalMs).unref();
  };
  arm();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** `DATABASE_REPLACED`, in words for whoever restored or recreated it. */
export const replaced = (known: string, found: string): QuaestorError =>
  new QuaestorError('DATABASE_REPLACED', `The database was recreated or restored (incarnation ${found}, it was ${known}): start this service again, so that it leaves the queues of the former one.`);
