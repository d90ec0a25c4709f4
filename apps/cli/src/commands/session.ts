import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { RunId } from '#contracts';
import type { CommandContext } from '../context.ts';
import { withRunDatabase, withTenantsDatabase, type TenantsDatabaseOption, type DatabaseOption } from '../run-database.ts';
import { openRowWriter, readRows, isCompressed } from '../sessions/artifact-rows.ts';
import { migrateFile, type MigrateOptions } from '../sessions/migrate-file.ts';

/** Publishes the version 2 successor of a version 1 artifact beside it and prints its path. Errors as `migrateFile`. */
export async function migrateSession({ terminal }: CommandContext, source: string, options: MigrateOptions): Promise<number> {
  const { file, fault, events, messages, attempts, chunks } = await migrateFile(source, options);
  if (fault) terminal.note(`The end of the source was left out: ${fault.message}`);
  terminal.note(`${events} events, ${messages} answers and ${attempts} other attempts with ${chunks.split(' ')[0]} chunks, verified.`);
  await terminal.print(file);
  return 0;
}

/**
 * Writes an ended run with its workers into a new file, compressed when its name ends in `.zstd`, and prints the file's path. Default:
 * `<run>.v2.jsonl` in the current folder.
 * @throws QuaestorError `NOT_FOUND`, `INVALID_REQUEST` for a run that goes on, `SESSION_EXISTS`
 */
export async function exportSession(context: CommandContext, runId: RunId, file: string | undefined, options: DatabaseOption): Promise<number> {
  const target = path.resolve(file ?? `${runId}.v2.jsonl`);
  await withRunDatabase(context, options, runId, async (sql) => {
    const { RunArtifactRepository } = await import('#database');
    const writer = await openRowWriter(target, isCompressed(target));
    try {
      for await (const row of new RunArtifactRepository(sql, () => randomBytes(17)).export(runId, null)) await writer.write(row);
      await writer.close();
    } catch (error) {
      await rm(target, { force: true });
      throw error;
    }
  });
  await context.terminal.print(target);
  return 0;
}

export interface ImportOptions extends TenantsDatabaseOption {
  /** Owner of the run; not needed where there is only one tenant. */
  tenant?: string;
}

/**
 * Stores an exported run under new ids and prints its id. Everything is verified before anything is written.
 * @throws QuaestorError `SESSION_INVALID` naming the row at fault, `NOT_FOUND`, `INVALID_REQUEST`, `QUOTA_EXHAUSTED`
 */
export async function importSession(context: CommandContext, file: string, options: ImportOptions): Promise<number> {
  const runId = await withTenantsDatabase(context, options, async (sql) => {
    const { RunArtifactRepository } = await import('#database');
    const artifacts = new RunArtifactRepository(sql, () => randomBytes(17));
    return artifacts.import(readRows(file), await artifacts.tenantOf(options.tenant));
  });
  await context.terminal.print(runId);
  return 0;
}
