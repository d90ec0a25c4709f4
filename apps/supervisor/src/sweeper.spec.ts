import { afterAll, beforeAll, expect, it } from 'vitest';
import { runJobId } from '#contracts';
import { CancelRepository, SweepRepository, SweepTurn } from '#database';
import { Runtime } from '#runtime';
import { AgentWorld, figure, waitUntil } from '#testing';
import { supervisorConfig, type SupervisorConfig } from './config.ts';
import { Sweeper } from './sweeper.ts';

let world: AgentWorld;
let runtime: Runtime;
let config: SupervisorConfig;

beforeAll(async () => {
  world = await AgentWorld.open();
  const { url, redisUrl } = world.database;
  config = supervisorConfig.parse({ DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'silent', SWEEP_INTERVAL_MS: 100 });
  runtime = await Runtime.open('spec', config);
});
afterAll(async () => {
  await runtime.close();
  await world.close();
});

it('[Q-15] goes on for everyone else when one cancelled run cannot be ended', async () => {
  const broken = await world.newRun();
  const lost = await world.newRun();
  await world.cancels.request(broken.tenantId, broken.runId);
  // the number of its last event is taken already
  await world.sql.change('UPDATE runs SET event_seq = 0 WHERE id = ?', [broken.runId]);
  await world.sql.change('UPDATE runs SET cancel_requested_at = NOW(3) - INTERVAL 1 MINUTE WHERE id = ?', [broken.runId]);
  await world.sql.change('UPDATE runs SET sent_at = NOW(3) - INTERVAL 1 MINUTE WHERE id = ?', [lost.runId]);
  const resentBefore = (await figure('sweeper_resent_total{queue="runs"}')) ?? 0;
  const sweeper = new Sweeper(runtime, config, { sweep: new SweepRepository(world.sql), cancel: new CancelRepository(world.sql), turn: new SweepTurn({ url: world.database.url, intervalMs: 100 }) });
  sweeper.onApplicationBootstrap();
  try {
    const runs = runtime.sender.queues.find(({ name }) => name === 'runs')!;
    await waitUntil(async () => (await runs.getJob(runJobId(lost.runId, 1))) !== undefined, { what: 'the job of the run that lost its own' });
    expect(await figure('sweeper_resent_total{queue="runs"}')).toBeGreaterThan(resentBefore);
  } finally {
    sweeper.beforeApplicationShutdown();
  }
});
