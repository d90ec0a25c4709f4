import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntil } from '#testing';
import { countJobs, type JobCount } from './job-counts.ts';
import { QueueProcessor } from './processor.ts';
import { callJob, newCallId, QueueWorld } from './spec-support/queue-world.ts';

let world: QueueWorld;
beforeAll(async () => {
  world = await QueueWorld.open();
});
afterAll(() => world.close());

const of = (counts: JobCount[], queue: string) => counts.filter((count) => count.queue === queue && count.jobs > 0).map(({ state, jobs }) => [state, jobs]);

it('counts what waits, what is worked on and what failed, for each queue', async () => {
  expect(await countJobs(world.sender)).toHaveLength(12);
  await world.sender.send([callJob(newCallId()), callJob(newCallId()), callJob(newCallId())]);
  expect(of(await countJobs(world.sender), 'scratchpad')).toEqual([['waiting', 3]]);
  let finish: (error: Error) => void = () => undefined;
  const stuck = new Promise<never>((_, reject) => (finish = reject));
  const processor = new QueueProcessor('scratchpad', () => stuck, { redis: world.connect(), prefix: world.prefix, concurrency: 1, onError: () => undefined });
  await waitUntil(() => processor.active === 1, { what: 'a job under way' });
  expect(of(await countJobs(world.sender), 'scratchpad')).toEqual([['waiting', 2], ['active', 1]]);
  finish(new Error('no'));
  await waitUntil(async () => of(await countJobs(world.sender), 'scratchpad').some(([state, jobs]) => state === 'failed' && jobs === 3), { what: 'three failures' });
  expect(of(await countJobs(world.sender), 'runs')).toEqual([]);
  await processor.close(1_000);
});
