import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { AgentWorld, spawnModelServer, waitUntil, type SpawnedModelServer } from '#testing';
import { startService, type StartedService } from './spec-support/service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let world: AgentWorld;
let model: SpawnedModelServer;
const started: StartedService[] = [];
beforeAll(async () => {
  world = await AgentWorld.open();
  model = await spawnModelServer({ script: 'bench' });
}, 60_000);
afterEach(() => {
  for (const { child } of started.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await model?.stop();
  await world?.close();
});

/** Runs before anything else in a service: its wall clock is wrong by so much, while its monotonic clock and the stores are right. */
const wrongClock = (byMs: number): string =>
  `--import=data:text/javascript,${encodeURIComponent(`const R=Date,by=${byMs};globalThis.Date=class extends R{constructor(...a){if(a.length)super(...a);else super(R.now()+by)}static now(){return R.now()+by}}`)}`;

async function startAll(skews: Record<'supervisor' | 'worker' | 'scratchpad', number>): Promise<void> {
  const env = { ...model.environment, DATABASE_URL: world.database.url, REDIS_URL: world.database.redisUrl };
  for (const [service, byMs] of Object.entries(skews)) started.push(startService(service as keyof typeof skews, { ...env, NODE_OPTIONS: wrongClock(byMs), TZ: byMs > 0 ? 'Pacific/Kiritimati' : 'America/New_York' }));
  await Promise.all(started.map(({ ready }) => ready));
}

it.each([
  ['T01', { supervisor: HOUR_MS, worker: -HOUR_MS, scratchpad: 10 * 365 * 24 * HOUR_MS }],
  ['T04', { supervisor: Date.UTC(2038, 0, 20) - Date.now(), worker: 0, scratchpad: -MINUTE_MS }],
  ['T02', { supervisor: -5 * MINUTE_MS, worker: 5 * MINUTE_MS, scratchpad: -5 * MINUTE_MS }],
])('[Q-03] [Q-09] [%s] services whose clocks differ (%o) hold their leases and deadlines by the clock of the database', async (row, skews) => {
  await startAll(skews);
  const token = `skew${row}${skews.supervisor}${skews.worker}`.replaceAll('-', 'm');
  const { runId } = await world.newRun({ question: `Skew: what is known? bench(n2,k3,t20,m40,e20,d8) run.${token}`, deadlineSeconds: 120 });
  await waitUntil(async () => (await world.run(runId))['ended_at'] !== null, { what: 'the end of the run', timeoutMs: 60_000 });
  const epochs = await world.rows('SELECT role, lease_epoch, stop_reason FROM runs WHERE root_run_id = ? ORDER BY worker_number', [runId]);
  expect(epochs.filter((run) => run['role'] === 'supervisor')).toMatchObject([{ stop_reason: 'answered' }]);
  // nobody took a run from a living holder: a worker claims once, a root run when it starts and when it is woken
  expect(epochs.filter((run) => run['role'] === 'worker').map((run) => run['lease_epoch'])).toEqual([1, 1]);
  expect(await world.rows(`SELECT id FROM attempts WHERE root_run_id = ? AND outcome <> 'completed'`, [runId])).toEqual([]);
  expect(await world.brokenPromises()).toEqual([]);
}, 120_000);
