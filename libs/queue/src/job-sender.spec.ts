import type { Job } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { QUEUE_NAMES, runJobId } from '#contracts';
import { TcpProxy, waitUntil } from '#testing';
import { connectRedis } from './connection.ts';
import { JobSender } from './job-sender.ts';
import { callJob, newCallId, newRunId, QueueWorld } from './spec-support/queue-world.ts';

let world: QueueWorld;
beforeEach(async () => {
  world = await QueueWorld.open();
});
afterEach(() => world.close());

async function waiting(name: string): Promise<Job[]> {
  const jobs: Job[] = await world.sender.queues.find((queue) => queue.name === name)!.getWaiting();
  return jobs;
}

describe('JobSender', () => {
  it('adds each job to its queue once, however often it is sent, and marks it', async () => {
    const runId = newRunId();
    const jobs = [callJob(newCallId()), callJob(newCallId()), { queue: 'runs' as const, jobId: runJobId(runId, 0), payload: { runId } }];
    await Promise.all([world.sender.send(jobs), world.sender.send(jobs.toReversed())]);
    await world.sender.send(jobs);
    expect((await waiting('scratchpad')).map((job) => job.id).sort()).toEqual([jobs[0]!.jobId, jobs[1]!.jobId].sort());
    expect((await waiting('runs')).map((job) => [job.id, job.data as unknown])).toEqual([[jobs[2]!.jobId, { runId }]]);
    await world.sender.flush();
    expect(new Set(world.marked.flat())).toEqual(new Set(jobs.map((job) => job.jobId)));
  });

  it('[Q-27] puts nothing but ids into Redis', async () => {
    const toolCallId = newCallId();
    await world.sender.send([callJob(toolCallId)]);
    const stored = await world.redis.hgetall(`${world.prefix}:scratchpad:${toolCallId}.1`);
    expect(stored['data']).toBe(JSON.stringify({ toolCallId }));
    expect(stored['name']).toBe('scratchpad');
  });

  it('gathers marks, so that many jobs cost one statement', async () => {
    for (let count = 0; count < 5; count++) await world.sender.send([callJob(newCallId())]);
    await waitUntil(() => world.marked.flat().length === 5, { what: 'marks' });
    expect(world.marked.length).toBeLessThan(5);
  });

  it('[Q-14] reports what could not be added and marks it not: the outbox row stays', async () => {
    const gone = connectRedis('redis://127.0.0.1:1', 'producer', world.onError);
    const marked: string[] = [];
    const errors: unknown[] = [];
    const sender = new JobSender({ redis: gone, prefix: world.prefix, outbox: { markSent: async (jobIds) => void marked.push(...jobIds) }, onError: (error) => errors.push(error) });
    await sender.send([callJob(newCallId())]);
    await sender.flush();
    expect(errors.filter((error) => /Redis did not take a job/.test(String(error)))).toHaveLength(1);
    expect(marked).toEqual([]);
    gone.disconnect();
  });

  it('[Q-14] does not wait for a Redis that goes away, and adds again when it is back', async () => {
    const proxy = await TcpProxy.open(world.redisUrl);
    const redis = connectRedis(proxy.url, 'producer', () => undefined);
    const errors: unknown[] = [];
    const sender = new JobSender({ redis, prefix: world.prefix, outbox: { markSent: async () => undefined }, onError: (error) => errors.push(error) });
    await sender.send([callJob(newCallId())]);
    await proxy.down();
    const startedMs = performance.now();
    const lost = callJob(newCallId());
    await sender.send([lost]);
    expect(performance.now() - startedMs).toBeLessThan(2_500);
    expect(errors.length).toBeGreaterThan(0);
    await proxy.heal();
    await waitUntil(async () => (await sender.send([lost]), (await waiting('scratchpad')).length === 2), { what: 'the job' });
    redis.disconnect();
    await proxy.close();
  });

  it('reports a mark that failed and goes on', async () => {
    const errors: unknown[] = [];
    const sender = new JobSender({ redis: world.redis, prefix: world.prefix, outbox: { markSent: () => Promise.reject(new Error('no database')) }, onError: (error) => errors.push(error) });
    await sender.send([callJob(newCallId())]);
    await sender.flush();
    expect(errors).toHaveLength(1);
    expect((await waiting('scratchpad')).length).toBe(1);
  });

  it('has every queue of the catalogue, under the prefix of this database', async () => {
    expect(world.sender.queues.map((queue) => queue.name)).toEqual(QUEUE_NAMES);
    await world.sender.send([callJob(newCallId())]);
    expect((await world.keys()).every((key) => key.startsWith(world.prefix))).toBe(true);
  });
});
