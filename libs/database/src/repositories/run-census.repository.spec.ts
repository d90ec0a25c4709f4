import { afterAll, beforeAll, expect, it } from 'vitest';
import { JournalWorld } from '../spec-support/journal-world.ts';
import { RunCensusRepository } from './run-census.repository.ts';

let world: JournalWorld;
beforeAll(async () => {
  world = await JournalWorld.open();
});
afterAll(() => world.close());

it('counts roots and workers that live, and how long the oldest untaken root has waited', async () => {
  const census = new RunCensusRepository(world.sql);
  const counted = async () => Object.fromEntries((await census.take()).counts.map(({ status, runs }) => [status, runs]));
  expect(await census.take()).toEqual({ counts: [{ status: 'queued', runs: 0 }, { status: 'running', runs: 0 }, { status: 'waiting', runs: 0 }], oldestQueuedSeconds: 0 });

  await world.claim(await world.newRun());
  const { workers } = await world.waitingRun(2, { workersMax: 1 });
  await world.sql.change('UPDATE runs SET created_at = created_at - INTERVAL 1 HOUR WHERE id = ?', [workers[1]!]);
  expect(await counted()).toEqual({ queued: 2, running: 1, waiting: 1 });
  expect((await census.take()).oldestQueuedSeconds).toBe(0);

  const runId = await world.newRun();
  await world.newRun();
  await world.sql.change('UPDATE runs SET created_at = created_at - INTERVAL 90 SECOND WHERE id = ?', [runId]);
  expect((await census.take()).oldestQueuedSeconds).toBeGreaterThanOrEqual(90);
  expect((await census.take()).oldestQueuedSeconds).toBeLessThan(120);

  await world.sql.change(`UPDATE runs SET status = 'completed', ended_at = NOW(3) WHERE id = ?`, [runId]);
  expect(await counted()).toMatchObject({ queued: 3 });
});
