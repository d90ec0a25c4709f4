import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { AgentWorld, spawnModelServer, waitUntil, type SpawnedModelServer } from '#testing';
import { startService, type StartedService } from './spec-support/service.ts';

/** One model call of it lasts for twenty seconds. */
const SLOW = 'bench(n1,k1,t400,m0,e20,d50)';

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

function start(graceMs: number): StartedService {
  const service = startService('supervisor', { ...model.environment, DATABASE_URL: world.database.url, REDIS_URL: world.database.redisUrl, DRAIN_GRACE_MS: String(graceMs) });
  started.push(service);
  return service;
}

const heldBy = (pid: number) => world.rows(`SELECT id FROM runs WHERE status = 'running' AND lease_owner LIKE ?`, [`supervisor-${pid}-%`]);
const isLivingOwner = (pid: number) => world.one<string>('SELECT COUNT(*) FROM lease_owners WHERE owner LIKE ? AND expires_at > NOW(3)', [`supervisor-${pid}-%`]).then((count) => Number(count) > 0);
const newRun = (token: string): Promise<{ runId: RunId }> => world.newRun({ question: `Drain ${token}: what is known? ${SLOW} run.${token}` });

it('[Q-30] [P08] a process that is told to stop at any moment of its start takes nothing with it', async () => {
  await newRun('start');
  const first = start(300);
  const startedMs = performance.now();
  await first.ready;
  const startMs = performance.now() - startedMs;
  first.child.kill('SIGTERM');
  expect(await first.ended).toEqual([0, null]);
  for (const share of [0.3, 0.5, 0.7, 0.8, 0.9, 1]) {
    const one = start(300);
    await new Promise((resolve) => setTimeout(resolve, startMs * share));
    one.child.kill('SIGTERM');
    // before its first line of code the system itself ends it
    expect([[0, null], [null, 'SIGTERM']]).toContainEqual(await one.ended);
    expect(await isLivingOwner(one.pid)).toBe(false);
  }
}, 60_000);

it('[Q-30] [P08] a call that does not end keeps a drain no longer than its grace time, and its run is free at once', async () => {
  const { runId } = await newRun('hung');
  const holder = start(500);
  await waitUntil(async () => (await heldBy(holder.pid)).some((row) => row['id'] === runId), { what: 'the claim', timeoutMs: 20_000 });
  await waitUntil(async () => ((await model.run('hung'))?.modelRequests ?? 0) > 0, { what: 'the model call', timeoutMs: 20_000 });
  const startedMs = performance.now();
  holder.child.kill('SIGTERM');
  expect(await holder.ended).toEqual([0, null]);
  // far less than the call would have lasted
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(await isLivingOwner(holder.pid)).toBe(false);
  const next = start(500);
  await waitUntil(async () => (await heldBy(next.pid)).some((row) => row['id'] === runId), { what: 'the claim of another', timeoutMs: 20_000 });
}, 60_000);
