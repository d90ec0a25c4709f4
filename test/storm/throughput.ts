import { setTimeout as delay } from 'node:timers/promises';
import { randomSource } from '#testing';
import { Asker } from './asker.ts';
import { percentile } from './figures.ts';
import { readHeld } from './kill-record.ts';
import { kindOf } from './kinds.ts';
import { RecoveryWatch } from './recovery.ts';
import { startWorld, type World } from './world.ts';

export interface ThroughputOptions {
  seed: number;
  /** Length of each of the two parts. */
  seconds: number;
  log(line: string): void;
}

/** More questions than the stack can work on at once, at every moment: its capacity is what is compared, not the length of one run. */
const BACKLOG = 64;
const WARM_MS = 8_000;
const KILL_EVERY_MS = 5_000;
const LOOK_MS = 20;
const END_WITHIN_MS = 60_000;
/** A run that waits for its cancel measures the asker, not the stack. */
const KINDS = 4;

/** The runs that a stack ends in a second, first undisturbed and then with one ready process killed every 5 s. */
export async function compareThroughput(options: ThroughputOptions): Promise<Record<string, number>> {
  const random = randomSource(options.seed);
  let recovery: RecoveryWatch | undefined;
  const world: World = await startWorld({
    name: `throughput-${options.seed}`, random, arm: () => null, log: options.log,
    onEnding: (ending) => void (recovery && readHeld(world.stores, ending).then((held) => recovery?.add(held, ending.atMs))),
  });
  const over = new AbortController();
  try {
    const asker = new Asker({ url: world.url, apiKey: world.apiKey, model: world.model, signal: over.signal });
    const backlog = keepAsking(asker, over.signal);
    await delay(WARM_MS);
    const calm = await runsPerSecond(asker, options.seconds);
    options.log(`calm: ${calm.toFixed(2)} runs/s`);
    recovery = new RecoveryWatch(world.stores);
    recovery.start();
    const killing = killEvery(world, random, options.seconds);
    const disturbed = await runsPerSecond(asker, options.seconds);
    const kills = await killing;
    options.log(`with ${kills} kills: ${disturbed.toFixed(2)} runs/s`);
    const deadlineMs = performance.now() + END_WITHIN_MS;
    while (recovery.waiting > 0 && performance.now() < deadlineMs) await delay(LOOK_MS);
    over.abort();
    await Promise.all([backlog, recovery.stop()]);
    const { recoveredMs } = recovery;
    return {
      seed: options.seed, seconds: options.seconds, backlog: BACKLOG, kills, calm_runs_per_second: calm, disturbed_runs_per_second: disturbed, throughput_share: disturbed / calm,
      recovered_runs: recoveredMs.length, unclaimed: recovery.waiting, recovery_p50_ms: percentile(recoveredMs, 0.5), recovery_p95_ms: percentile(recoveredMs, 0.95),
      recovery_p99_ms: percentile(recoveredMs, 0.99), recovery_max_ms: percentile(recoveredMs, 1),
    };
  } finally {
    over.abort();
    await world.stop(false);
  }
}

async function keepAsking(asker: Asker, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; ) {
    if (asker.inFlight < BACKLOG) asker.ask(kindOf(count % KINDS), `load${String(count++).padStart(6, '0')}`);
    else await delay(LOOK_MS);
  }
}

async function runsPerSecond(asker: Asker, seconds: number): Promise<number> {
  const [before, startedMs] = [asker.over, performance.now()];
  await delay(seconds * 1_000);
  return ((asker.over - before) * 1_000) / (performance.now() - startedMs);
}

async function killEvery({ fleet }: World, random: () => number, seconds: number): Promise<number> {
  const endMs = performance.now() + seconds * 1_000;
  let kills = 0;
  while (performance.now() + KILL_EVERY_MS <= endMs) {
    const { ready } = fleet;
    const victim = ready[Math.floor(random() * ready.length)];
    if (victim?.pid !== undefined && fleet.signal(victim, victim.pid, 'SIGKILL')) kills++;
    await delay(KILL_EVERY_MS);
  }
  return kills;
}
