import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;
const TERMINATE_TIMEOUT_MS = 15_000;

/** A process by pid and start time: pids are used again, the pair is not. */
export interface ProcessIdentity {
  pid: number;
  startedAt: string;
}

/** The process that has this pid now, or undefined when there is none (a zombie counts as none). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startedAt = process.platform === 'linux' ? linuxStartTime(pid) : psField(pid, 'lstart');
  return startedAt ? { pid, startedAt } : undefined;
}

export function isAlive(process: ProcessIdentity): boolean {
  return identifyProcess(process.pid)?.startedAt === process.startedAt;
}

function linuxStartTime(pid: number): string | undefined {
  const fields = readText(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ');
  const [state, startTicks] = [fields?.[0], fields?.[19]];
  return state === 'Z' || state === 'X' ? undefined : startTicks;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function psField(pid: number, field: string): string | undefined {
  try {
    return execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || undefined;
  } catch {
    return undefined;
  }
}

function commandLine(pid: number): string {
  if (process.platform === 'linux') return (readText(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ');
  return psField(pid, 'command') ?? '';
}

/** Whether that pid runs a command that names `marker` (a path of ours): the proof that it may be signalled. */
export const runsWith = (pid: number, marker: string): boolean => commandLine(pid).includes(marker);

/** All processes whose command names `marker`, except this one. */
export function processesWith(marker: string): ProcessIdentity[] {
  return allPids()
    .filter((pid) => pid !== process.pid && runsWith(pid, marker))
    .map(identifyProcess)
    .filter((found) => found !== undefined);
}

function allPids(): number[] {
  if (process.platform === 'linux') return readdirSync('/proc').map(Number).filter(Number.isInteger);
  return execFileSync('ps', ['-axo', 'pid='], { encoding: 'utf8' }).trim().split(/\s+/).map(Number);
}

/** SIGTERM, wait, SIGKILL. Only a process that is still the same one and names `marker` is signalled. Safe to repeat. */
export async function terminate(target: ProcessIdentity, marker: string): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!isAlive(target) || !runsWith(target.pid, marker)) return;
    process.kill(target.pid, signal);
    if (await waitFor(() => !isAlive(target), TERMINATE_TIMEOUT_MS)) return;
  }
}

/** Polls until `condition` holds; false when time ran out first. */
export async function waitFor(condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

export interface RunAs {
  uid: number;
  gid: number;
}

/** Starts a server that outlives this process; its output is appended to `logFile`. */
export function spawnDetached(command: string, args: string[], { cwd, logFile, runAs }: { cwd: string; logFile: string; runAs: RunAs | undefined }): ProcessIdentity | undefined {
  const log = openSync(logFile, 'a', 0o600);
  try {
    const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', log, log], ...runAs });
    child.on('error', () => undefined);
    child.unref();
    return child.pid === undefined ? undefined : identifyProcess(child.pid);
  } finally {
    closeSync(log);
  }
}
