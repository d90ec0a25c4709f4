import { QuaestorError } from '#contracts';
import { startLocalServices } from '#platform';
import type { CommandContext } from '../context.ts';
import { withDatabase } from '../docs-folder.ts';
import { listRunRecords, readStackRecord } from '../records.ts';

export interface VerifyOptions {
  /** `mysql://user:password@host:port/name` */
  database?: string;
  json?: boolean;
}

interface Target {
  name: string;
  url: string;
  /** No services work on it: what is unfinished is not late. */
  atRest: boolean;
}

const VIOLATED = 1;

/**
 * Holds a database against every promise its rows can answer; 1 when one is broken. Without a named database: that of the stack that runs
 * here, else those in which this machine left runs. Reads only.
 * @throws QuaestorError `NOT_FOUND`, `DATABASE_UNREACHABLE`, `DATABASE_UNSUITABLE`
 */
export async function verify(context: CommandContext, options: VerifyOptions): Promise<number> {
  const { config, log } = context;
  const named = options.database ?? config.DATABASE_URL;
  if (named) return verifyAll(context, [{ name: nameOf(named), url: named, atRest: false }], options);
  const local = localDatabases(context);
  const services = await startLocalServices({ directory: config.QUAESTOR_DIRECTORY, log });
  try {
    return await verifyAll(context, local.names.map((name) => ({ name, url: withDatabase(services.databaseUrl, name), atRest: local.atRest })), options);
  } finally {
    await services.stop();
  }
}

const nameOf = (url: string): string => (URL.canParse(url) ? new URL(url).pathname.slice(1) : '');

function localDatabases({ config }: CommandContext): { names: string[]; atRest: boolean } {
  const running = readStackRecord(config.QUAESTOR_DIRECTORY);
  if (running) return { names: [running.database], atRest: false };
  const names = [...new Set(listRunRecords(config.QUAESTOR_DIRECTORY).map((record) => record.database))];
  if (names.length === 0) throw new QuaestorError('NOT_FOUND', 'No stack and no run is known here: name a database with --database or DATABASE_URL.');
  return { names, atRest: true };
}

async function verifyAll({ terminal }: CommandContext, targets: Target[], { json }: VerifyOptions): Promise<number> {
  const { runOracles } = await import('#database');
  const verified = [];
  for (const { name, url, atRest } of targets) verified.push({ database: name, reports: await runOracles(url, { atRest }) });
  const broken = verified.flatMap(({ reports }) => reports).filter((report) => report.violations > 0).length;
  if (json) await terminal.print(JSON.stringify({ ok: broken === 0, databases: verified }, null, 2));
  for (const { database, reports } of json ? [] : verified) {
    terminal.note(`Database ${database}`);
    for (const { invariant, title, rows, violations, sample } of reports) {
      await terminal.print(violations === 0 ? `ok ${invariant} ${title} (${rows} rows)` : `BROKEN ${invariant} ${title}: ${violations} of ${rows} rows, such as ${sample.join(', ')}`);
    }
  }
  return broken === 0 ? 0 : VIOLATED;
}
