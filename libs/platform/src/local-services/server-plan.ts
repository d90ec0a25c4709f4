import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { QuaestorError } from '#contracts';
import { freePort } from './ports.ts';
import { isAlive, processesWith, spawnDetached, terminate, waitFor, type RunAs } from './processes.ts';
import type { RunningService, ServiceName } from './state-file.ts';

/** Everything the launcher needs to know about one kind of server. */
export interface ServerPlan {
  name: ServiceName;
  /** Its product name, for people. */
  title: string;
  /** A path that stands in its command line and in no other. */
  marker: string;
  home: string;
  command: string;
  /** Writes what the server needs (safe to repeat) and returns its arguments. */
  prepare(port: number, runAs: RunAs | undefined): Promise<string[]>;
  answers(port: number): Promise<boolean>;
  /** Called once it answers. */
  started?(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
/** Another process may take the chosen port between our look and the server's bind. */
const START_TRIES = 3;
const LOG_LINES_SHOWN = 5;

const logFileOf = (plan: ServerPlan): string => path.join(plan.home, 'server.log');

/**
 * Starts one server and waits until it answers. Leftovers on the same data folder are stopped first.
 * @throws QuaestorError `LOCAL_SERVICES_UNAVAILABLE` with the end of the server's log.
 */
export async function launch(plan: ServerPlan, wantedPort: number | undefined, runAs: RunAs | undefined): Promise<RunningService> {
  for (const leftover of processesWith(plan.marker)) await terminate(leftover, plan.marker);
  for (let attempt = 1; attempt <= START_TRIES; attempt++) {
    const port = await freePort(attempt === 1 ? wantedPort : undefined);
    const args = await plan.prepare(port, runAs);
    const process = spawnDetached(plan.command, args, { cwd: plan.home, logFile: logFileOf(plan), runAs });
    if (!process) continue;
    await waitFor(async () => !isAlive(process) || (await plan.answers(port)), READY_TIMEOUT_MS);
    if (isAlive(process) && (await plan.answers(port))) {
      await plan.started?.();
      return { via: 'process', process, port };
    }
    await terminate(process, plan.marker);
  }
  throw new QuaestorError('LOCAL_SERVICES_UNAVAILABLE', `${plan.title} did not start from ${plan.command}; its log ${logFileOf(plan)} ends: ${await logTail(plan)}`);
}

async function logTail(plan: ServerPlan): Promise<string> {
  const text = await readFile(logFileOf(plan), 'utf8').catch(() => '');
  return text.trim().split('\n').slice(-LOG_LINES_SHOWN).join(' | ') || '(empty)';
}
