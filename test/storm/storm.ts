import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runOracles, type OracleReport } from '#database';
import { CRASH_POINTS, randomSource, waitUntil, type CrashPoint } from '#testing';
import { Asker } from './asker.ts';
import type { Ending, Slot } from './fleet.ts';
import { KillLog } from './kill-log.ts';
import { busyPids } from './kill-record.ts';
import { Killer } from './killer.ts';
import { kindOf, RUN_KINDS } from './kinds.ts';
import { RecoveryWatch } from './recovery.ts';
import { References } from './references.ts';
import { StoreFaults, type StoreTarget } from './store-faults.ts';
import { allReady, startWorld, type World } from './world.ts';

export interface StormOptions {
  runs: number;
  kills: number;
  seed: number;
  with: readonly StoreTarget[];
  points: readonly CrashPoint[] | null;
  log(line: string): void;
}

/** Everything a verdict needs, read while the stores still run. */
export interface StormResult {
  world: World;
  asker: Asker;
  kills: KillLog;
  recovery: RecoveryWatch;
  faults: StoreFaults;
  wrongLogs: string[];
  oracles: OracleReport[];
  overdue: number;
  unreached: string[];
  seconds: number;
}

/** Runs in the air at once: enough that nearly every process holds some when it dies. */
const IN_FLIGHT = 24;
/** Kills may be this share of all ahead of the questions they are to hit. */
const AHEAD_SHARE = 0.05;
const LIVENESS_MS = 60_000;
const SAY_EVERY_MS = 10_000;
const PACE_MS = 25;
/** Whether a drain still meets a job is chance. */
const TOUR_ROUNDS_MAX = 4;
const TOUR_RUNS = 6;
const BUSY_TIMEOUT_MS = 10_000;

/** Prepares, storms, waits for everything to end, and judges what can be judged only while the stack runs. */
export async function storm(options: StormOptions): Promise<StormResult> {
  const random = randomSource(options.seed);
  const startedMs = performance.now();
  const pace = { asked: 0 };
  const killer: Killer = new Killer({
    random, kills: options.kills, points: options.points, busyPids: () => busyPids(world.stores),
    mayKill: (kills) => kills / options.kills <= pace.asked / options.runs + AHEAD_SHARE,
  });
  let isArmed = false;
  let onEnding: (ending: Ending) => void = () => undefined;
  const world: World = await startWorld({ name: `${options.seed}-${Date.now().toString(36)}`, random, arm: (slot) => (isArmed ? killer.arm(slot) : null), onEnding: (ending) => onEnding(ending), log: options.log });
  const ended = new AbortController();
  const asker = new Asker({ url: world.url, apiKey: world.apiKey, model: world.model, signal: ended.signal });
  const recovery = new RecoveryWatch(world.stores);
  const kills = new KillLog({ world, killer, asker, recovery });
  const faults = new StoreFaults(world, options.with, random);
  try {
    const references = await References.play(world, asker);
    const unreached = await tourRest(world, asker);
    options.log(`undisturbed: ${RUN_KINDS.length} kinds of runs played, ${Object.keys(CRASH_POINTS).length - unreached.length} of ${Object.keys(CRASH_POINTS).length} points passed`);
    await allReady(world.fleet);
    onEnding = (ending) => kills.note(ending);
    recovery.start();
    isArmed = true;
    const over = saying(options, kills, asker, faults);
    faults.start();
    await Promise.all([killer.run(world.fleet), submit(options, asker, killer, pace)]);
    isArmed = false;
    await faults.stop();
    await disarm(world, kills);
    const overdue = await livenessPhase(asker, recovery);
    over();
    await kills.settled();
    ended.abort();
    await recovery.stop();
    const oracles = await runOracles(world.stores.databaseUrl);
    await world.fleet.stop();
    oracles.push(...(await runOracles(world.stores.databaseUrl, { atRest: true })));
    const wrongLogs = await references.compare(asker.asked.filter(({ token }) => token.startsWith('run')));
    return { world, asker, kills, recovery, faults, wrongLogs, oracles, overdue, unreached, seconds: (performance.now() - startedMs) / 1000 };
  } catch (error) {
    ended.abort();
    await faults.stop();
    await recovery.stop();
    await world.stop(true);
    throw new Error(`${error instanceof Error ? error.message : String(error)} (evidence: ${world.directory})`, { cause: error });
  }
}

/** Points that an undisturbed run does not pass: a drain with work left, and work without a job. Gives those that stayed unpassed. */
async function tourRest(world: World, asker: Asker): Promise<string[]> {
  let missing = missingPoints(world);
  for (let round = 1; missing.length > 0 && round <= TOUR_ROUNDS_MAX; round++) {
    await allReady(world.fleet);
    for (let index = 0; index < TOUR_RUNS; index++) asker.ask(RUN_KINDS[1]!, `tour${round}${index}`);
    const [drained, killed] = await waitUntil(() => busyWorkers(world), { what: 'both workers to be busy', timeoutMs: BUSY_TIMEOUT_MS }).catch(() => []);
    if (drained?.pid) world.fleet.signal(drained, drained.pid, 'SIGTERM');
    if (killed?.pid) world.fleet.signal(killed, killed.pid, 'SIGKILL');
    await asker.settled();
    missing = missingPoints(world);
  }
  return missing;
}

async function busyWorkers(world: World): Promise<Slot[] | null> {
  const busy = await busyPids(world.stores);
  const workers = world.fleet.ready.filter(({ service, pid }) => service === 'worker' && pid !== undefined && busy.has(pid));
  return workers.length === 2 ? workers : null;
}

function missingPoints({ tour }: World): string[] {
  const passed = new Set(readFileSync(tour, 'utf8').split('\n').map((line) => line.split(' ')[0]));
  return Object.keys(CRASH_POINTS).filter((point) => !passed.has(point));
}

async function submit(options: StormOptions, asker: Asker, killer: Killer, pace: { asked: number }): Promise<void> {
  const lead = IN_FLIGHT / options.runs;
  while (pace.asked < options.runs) {
    const isPaced = pace.asked / options.runs <= killer.kills / options.kills + lead || killer.kills >= options.kills;
    if (asker.inFlight < IN_FLIGHT && isPaced) asker.ask(kindOf(pace.asked), `run${String(++pace.asked).padStart(6, '0')}`);
    else await delay(PACE_MS);
  }
}

/** Processes that were started to die somewhere are drained and replaced: from here on there are no faults. */
async function disarm(world: World, kills: KillLog): Promise<void> {
  for (const slot of world.fleet.slots) if (slot.armed !== null && slot.pid !== undefined) kills.drain(slot, slot.pid);
  await waitUntil(() => world.fleet.slots.every(({ armed }) => armed === null), { what: 'the last armed process to end', timeoutMs: 90_000 });
  await allReady(world.fleet);
}

/** How many runs have not ended a minute after the last fault. */
async function livenessPhase(asker: Asker, recovery: RecoveryWatch): Promise<number> {
  const deadlineMs = performance.now() + LIVENESS_MS;
  while (performance.now() < deadlineMs && (asker.over < asker.asked.length || recovery.waiting > 0)) await delay(100);
  return asker.asked.length - asker.over;
}

function saying(options: StormOptions, kills: KillLog, asker: Asker, faults: StoreFaults): () => void {
  const timer = setInterval(() => {
    options.log(`${asker.over}/${asker.asked.length} runs over, ${kills.records.length}/${options.kills} kills, ${faults.count} store faults, ${kills.recoveryWaiting} runs waiting for a new holder`);
  }, SAY_EVERY_MS);
  return () => clearInterval(timer);
}

/** The receipts of a storm, one JSON line each, for whoever doubts a figure. */
export function keepReceipts(result: StormResult): string {
  const file = path.join(result.world.directory, 'receipts.jsonl');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '');
  for (const receipt of [...result.kills.records, ...result.faults.receipts, ...result.recovery.recoveries]) appendFileSync(file, `${JSON.stringify(receipt)}\n`);
  return file;
}
