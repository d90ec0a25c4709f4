import { afterAll, beforeAll, expect, it } from 'vitest';
import { runJobId } from '#contracts';
import { JournalWorld } from '../spec-support/journal-world.ts';
import { OutboxRepository } from './outbox.repository.ts';

let world: JournalWorld;
let outbox: OutboxRepository;
beforeAll(async () => {
  world = await JournalWorld.open();
  outbox = new OutboxRepository(world.sql);
});
afterAll(() => world?.close());

it('[Q-14] [Q-15] keeps a job until it was sent, oldest first, and leaves young ones to whoever wrote them', async () => {
  const runs = [await world.newRun(), await world.newRun(), await world.newRun()];
  const jobs = runs.map((runId) => ({ queue: 'runs', jobId: runJobId(runId, 0), payload: { runId } }));
  expect(await outbox.pending(0, 10)).toEqual(jobs);
  expect(await outbox.pending(0, 2)).toEqual(jobs.slice(0, 2));
  expect(await outbox.pending(60_000, 10)).toEqual([]);
  await outbox.markSent([jobs[0]!.jobId, jobs[2]!.jobId]);
  await outbox.markSent([jobs[0]!.jobId]);
  await outbox.markSent([]);
  expect(await outbox.pending(0, 10)).toEqual([jobs[1]]);
});
