import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { environment, freePort } from '#platform';
import { spawnModelServer, waitUntil, type SpawnedModelServer } from '#testing';
import { Fleet, type Ending, type Slot } from './fleet.ts';
import { Stores } from './stores.ts';

/** The compiled project: this file runs from there. */
const BUILD_ROOT = path.resolve(import.meta.dirname, '../..');
const ALL_READY_TIMEOUT_MS = 120_000;
const MIGRATIONS_KILLED = 3;
/** From the start of the command's process: most of it is loading, the statements take a fraction of a second. */
const KILL_MIN_MS = 200;
const KILL_SPREAD_MS = 250;

export interface World {
  stores: Stores;
  model: SpawnedModelServer;
  fleet: Fleet;
  url: string;
  apiKey: string;
  /** Everything a reader needs after a failure: logs, receipts, folded runs. */
  directory: string;
  /** Written by processes that die at a named point, just before. */
  crashReceipts: string;
  /** Points that were passed, one a line; written while nothing is armed. */
  tour: string;
  migrationsKilled: number;
  stop(isKept: boolean): Promise<void>;
}

export interface WorldOptions {
  name: string;
  random: () => number;
  arm(slot: Slot): string | null;
  onEnding(ending: Ending): void;
  log(line: string): void;
}

/** Stores, model and services, each a process of its own; nobody is killed yet, but some migrations. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const home = path.resolve('.local/storm');
  const directory = path.join(home, options.name);
  mkdirSync(directory, { recursive: true });
  const stores = await Stores.start(path.join(home, 'stores'));
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async (isKept: boolean): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await stores.stop(isKept);
  };
  try {
    const migrationsKilled = await migrateUnderFire(stores.databaseUrl, options.random);
    const model = await spawnModelServer({ keepsRequests: true });
    cleanups.push(() => model.stop());
    const port = await freePort();
    const apiKey = `qk_${randomBytes(32).toString('base64url')}`;
    const crashReceipts = path.join(directory, 'crash-points.jsonl');
    const tour = path.join(directory, 'tour.txt');
    const env = {
      // a page that takes longer is told by its bare text, and on a busy machine any may
      WEB_EXTRACT_TIMEOUT_MS: '60000', ...model.environment, ...plantedFaults(), NODE_COMPILE_CACHE: path.join(BUILD_ROOT, '.compile-cache'), LOG_LEVEL: 'info', DATABASE_URL: stores.databaseUrl, REDIS_URL: stores.redisUrl,
      GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: String(port), HEALTH_PORT: '0', BOOTSTRAP_API_KEY: apiKey, CRASH_RECEIPTS: crashReceipts, CRASH_TOUR: tour,
    };
    const fleet = new Fleet({ buildRoot: BUILD_ROOT, logDirectory: path.join(directory, 'logs'), env, arm: options.arm, onEnding: options.onEnding });
    cleanups.push(() => fleet.stop());
    fleet.start();
    await allReady(fleet);
    return { stores, model, fleet, url: `http://127.0.0.1:${port}`, apiKey, directory, crashReceipts, tour, migrationsKilled, stop };
  } catch (error) {
    await stop(true);
    throw error;
  }
}

export const allReady = (fleet: Fleet): Promise<unknown> =>
  waitUntil(() => fleet.ready.length === fleet.slots.length, { what: 'all services of the storm', timeoutMs: ALL_READY_TIMEOUT_MS, intervalMs: 20 });

/** Bugs to be noticed by this storm, comma separated; see `libs/testing/src/planted.ts`. */
const plantedFaults = (): Record<string, string> => {
  const fault = environment()['PLANTED_FAULT'];
  return fault === undefined ? {} : { PLANTED_FAULT: fault };
};

/** A migration that was killed anywhere starts over: the last one must succeed whatever those before it left. */
async function migrateUnderFire(databaseUrl: string, random: () => number): Promise<number> {
  let killed = 0;
  for (let round = 0; round < MIGRATIONS_KILLED; round++) if ((await migrate(databaseUrl, KILL_MIN_MS + random() * KILL_SPREAD_MS)) === 'SIGKILL') killed++;
  const ending = await migrate(databaseUrl, null);
  if (ending !== 0) throw new Error(`the migration ended with ${ending} after ${killed} killed ones`);
  return killed;
}

async function migrate(databaseUrl: string, killAfterMs: number | null): Promise<number | string | null> {
  const env = { PATH: environment()['PATH'], HOME: environment()['HOME'], DATABASE_URL: databaseUrl, NODE_COMPILE_CACHE: path.join(BUILD_ROOT, '.compile-cache') };
  const child = spawn(process.execPath, [path.join(BUILD_ROOT, 'apps/cli/src/main.js'), 'migrate'], { env, stdio: 'ignore' });
  const timer = killAfterMs === null ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(timer);
  return signal ?? code;
}
