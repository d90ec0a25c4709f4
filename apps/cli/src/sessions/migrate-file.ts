import { link, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { QuaestorError } from '#contracts';
import { headerRow, parseSessionHeader, parseSessionRow, refuseSession, SessionMigration, sessionRow, type SessionEvent, type VerifiedSession } from '#domain';
import { isCompressed, openRowWriter, readRows, type RowWriter } from './artifact-rows.ts';
import { verifyInProcess } from './verifier-process.ts';

export interface MigratedFile extends VerifiedSession {
  /** The successor that was published. */
  file: string;
  /** Why the end of the source was left out; null when all of it was carried over. */
  fault: QuaestorError | null;
}

export interface MigrateOptions {
  /** Carry over the whole part of a source whose end is broken, as a writer that died leaves it. Default false: refuse it. */
  recover?: boolean;
}

/**
 * Publishes the version 2 successor of a version 1 artifact beside it: `x.v1.jsonl` gives `x.v2.jsonl`, `x.jsonl` too. The source stays byte
 * for byte; the successor appears whole, after a process of its own has expanded it again and found every chunk, or not at all. Streams: a
 * file of any size takes the memory of its largest step.
 * @throws QuaestorError `SESSION_INVALID` with the row at fault, `SESSION_EXISTS`, `NOT_FOUND`
 */
export async function migrateFile(source: string, { recover = false }: MigrateOptions = {}): Promise<MigratedFile> {
  const target = successorOf(source);
  await refuseExisting(target);
  const temporary = path.join(path.dirname(target), `.${process.pid}.${path.basename(target)}`);
  const before = await stateOf(source);
  try {
    const fault = await writeSuccessor(source, temporary, recover);
    const verified = await verifyInProcess(temporary, { file: source, recover });
    if ((await stateOf(source)) !== before) throw new QuaestorError('SESSION_INVALID', `The file ${source} was changed while it was read; nothing was published.`);
    await publish(temporary, target);
    return { file: target, fault, ...verified };
  } finally {
    await rm(temporary, { force: true });
  }
}

const NAME = /^(.+?)(?:\.v1)?\.jsonl(\.zstd)?$/;

function successorOf(source: string): string {
  const [, stem, compression = ''] = NAME.exec(path.basename(source)) ?? [];
  if (stem === undefined) throw new QuaestorError('SESSION_INVALID', `The file ${source} is no session artifact: its name must end in .jsonl or .jsonl.zstd.`);
  return path.join(path.dirname(source), `${stem}.v2.jsonl${compression}`);
}

async function refuseExisting(target: string): Promise<void> {
  const exists = await stat(target).then(() => true, () => false);
  if (exists) throw new QuaestorError('SESSION_EXISTS', `The successor ${target} exists already.`);
}

async function stateOf(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => null);
  if (!found?.isFile()) throw new QuaestorError('NOT_FOUND', `The file ${file} cannot be read.`);
  return `${found.ino} ${found.size} ${found.mtimeNs}`;
}

async function writeSuccessor(source: string, temporary: string, recover: boolean): Promise<QuaestorError | null> {
  let fault: QuaestorError | null = null;
  const recovered = recover ? (found: QuaestorError) => void (fault = found) : undefined;
  const writer = await openRowWriter(temporary, isCompressed(source));
  try {
    await migrateRows(readRows(source, { recovered }), writer);
  } finally {
    await writer.close();
  }
  return fault;
}

async function migrateRows(rows: AsyncIterable<unknown>, writer: RowWriter): Promise<void> {
  let migration: SessionMigration | undefined;
  let emitted: SessionEvent[] = [];
  const writeEmitted = async (): Promise<void> => {
    const events = emitted;
    emitted = [];
    for (const event of events) await writer.write(sessionRow(event));
  };
  let seq = 0;
  for await (const row of rows) {
    if (migration) {
      migration.push(parseSessionRow(row, seq++, 1, true));
    } else {
      const header = parseSessionHeader(row);
      if (header.version !== 1) refuseSession(1, 'has version 2 already');
      await writer.write(headerRow(header));
      migration = new SessionMigration(header, (event) => emitted.push(event));
    }
    if (emitted.length > 0) await writeEmitted();
  }
  migration?.finish();
  await writeEmitted();
}

/** A link never replaces a file: of two migrations that finish at once, one is told that the successor exists. */
async function publish(temporary: string, target: string): Promise<void> {
  try {
    await link(temporary, target);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw new QuaestorError('SESSION_EXISTS', `The successor ${target} exists already.`);
    throw error;
  }
}
