import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { QuaestorError } from '#contracts';
import { identifyProcess, isAlive, waitFor, type ProcessIdentity } from './processes.ts';

/** Long enough for a first start that has to install packages. */
const WAIT_TIMEOUT_MS = 300_000;
const TAKEOVER_STALE_MS = 10_000;

/**
 * Runs `work` while no other process holds `file`. A lock whose owner died is taken over.
 * @throws QuaestorError `LOCAL_SERVICES_UNAVAILABLE` when a living owner keeps it for five minutes.
 */
export async function withLockFile<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  await mkdir(path.dirname(file), { recursive: true });
  if (!(await waitFor(() => tryLock(file), WAIT_TIMEOUT_MS))) {
    throw new QuaestorError('LOCAL_SERVICES_UNAVAILABLE', `Another process holds ${file} for too long: stop it, or remove the file when nothing is running.`);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function tryLock(file: string): Promise<boolean> {
  if (await createExclusively(file)) return true;
  if (!ownerIsDead(await readOwner(file))) return false;
  return takeOver(file);
}

async function createExclusively(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx', 0o600);
    await handle.writeFile(JSON.stringify(identifyProcess(process.pid)));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** A second lock decides who removes the dead owner's one: two waiters must not remove each other's. */
async function takeOver(file: string): Promise<boolean> {
  const gate = `${file}.takeover`;
  if (!(await createExclusively(gate))) {
    const ageMs = await stat(gate).then((info) => Date.now() - info.mtimeMs, () => 0);
    if (ageMs > TAKEOVER_STALE_MS) await rm(gate, { force: true });
    return false;
  }
  try {
    if (!ownerIsDead(await readOwner(file))) return false;
    await writeFile(file, JSON.stringify(identifyProcess(process.pid)));
    return true;
  } finally {
    await rm(gate, { force: true });
  }
}

/** `undefined`: gone or being written, so ask again; an owner that is no longer alive is dead. */
async function readOwner(file: string): Promise<ProcessIdentity | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

const ownerIsDead = (owner: ProcessIdentity | undefined): boolean => owner !== undefined && !isAlive(owner);
