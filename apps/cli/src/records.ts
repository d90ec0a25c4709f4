import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { RunId, RunStatus, StopReason } from '#contracts';
import { isAlive } from '#platform';
import { z } from 'zod';

/** A run that this machine started: where it lives, so that it can be resumed and shown later. */
const RunRecord = z.object({
  run_id: RunId,
  /** Name of its database on the local or configured server. */
  database: z.string(),
  docs_folder: z.string().nullable(),
  /** Whether the folder was asked for in place of a search engine. */
  instead_of_web: z.boolean(),
  question: z.string(),
  created_at: z.string(),
  status: RunStatus,
  stop_reason: StopReason.nullable(),
});
export type RunRecord = z.infer<typeof RunRecord>;

/** The stack that `quaestor start` runs here. */
const StackRecord = z.object({
  url: z.string(),
  owner: z.object({ pid: z.number(), startedAt: z.string() }),
  docs_folder: z.string().nullable(),
  /** The database it works on. */
  database: z.string(),
});
export type StackRecord = z.infer<typeof StackRecord>;

const stackFile = (directory: string): string => path.join(directory, 'stack.json');
const runsFolder = (directory: string): string => path.join(directory, 'runs');
const runFile = (directory: string, runId: RunId): string => path.join(runsFolder(directory), `${runId}.json`);

/** The running stack, or undefined when there is none or its owner is gone. */
export function readStackRecord(directory: string): StackRecord | undefined {
  const record = readJson(stackFile(directory), StackRecord);
  return record && isAlive(record.owner) ? record : undefined;
}

export const writeStackRecord = (directory: string, record: StackRecord): void => writeJson(stackFile(directory), record);
export const removeStackRecord = (directory: string): void => rmSync(stackFile(directory), { force: true });

export const readRunRecord = (directory: string, runId: RunId): RunRecord | undefined => readJson(runFile(directory, runId), RunRecord);
export const writeRunRecord = (directory: string, record: RunRecord): void => writeJson(runFile(directory, record.run_id), record);

/** All recorded runs, newest first. */
export function listRunRecords(directory: string): RunRecord[] {
  return listFiles(runsFolder(directory))
    .map((name) => readJson(path.join(runsFolder(directory), name), RunRecord))
    .filter((record) => record !== undefined)
    .sort((left, right) => right.created_at.localeCompare(left.created_at));
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

/** A file that is missing, half written or foreign is no record. */
function readJson<Schema extends z.ZodType>(file: string, schema: Schema): z.infer<Schema> | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

function writeJson(file: string, value: unknown): void {
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}
