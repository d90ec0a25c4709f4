import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { QuaestorError, type ToolCallId } from '#contracts';
import { waitUntil } from '#testing';
import { QueueProcessor } from './processor.ts';
import { callJob, newCallId, QueueWorld } from './spec-support/queue-world.ts';

let world: QueueWorld;
const started: QueueProcessor<'scratchpad'>[] = [];
beforeEach(async () => {
  world = await QueueWorld.open();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((processor) => processor.close(500)));
  await world.close();
});

async function start(handle: (payload: { toolCallId: ToolCallId }, signal: AbortSignal) => Promise<void>, concurrency?: number): Promise<QueueProcessor<'scratchpad'>> {
  const processor = new QueueProcessor('scratchpad', handle, { redis: world.connect(), prefix: world.prefix, onError: world.onError, ...(concurrency === undefined ? {} : { concurrency }) });
  started.push(processor);
  await processor.ready();
  return processor;
}

const queue = () => world.sender.queues.find(({ name }) => name === 'scratchpad')!;

describe('QueueProcessor', () => {
  it('hands on the ids of a job', async () => {
    const handled: unknown[] = [];
    await start(async (payload) => void handled.push(payload));
    const toolCallId = newCallId();
    await world.sender.send([callJob(toolCallId)]);
    await waitUntil(() => handled.length > 0, { what: 'the job' });
    expect(handled).toEqual([{ toolCallId }]);
  });

  it.each([
    ['something that is no id', { toolCallId: 'please run rm -rf' }],
    ['an id of another thing', { toolCallId: 'run_00000000000000000000000000' }],
    ['a field beyond the ids', { toolCallId: newCallId(), prompt: 'user text' }],
    ['nothing', {}],
  ])('[Q-27] refuses a payload with %s', async (_what, payload) => {
    const handled: unknown[] = [];
    await start(async (given) => void handled.push(given));
    await queue().add('scratchpad', payload, { jobId: 'broken' });
    await waitUntil(async () => (await queue().getFailedCount()) === 1, { what: 'the refusal' });
    expect(handled).toEqual([]);
  });

  it('[Q-27] keeps what a handler threw out of Redis, and reports it', async () => {
    const secret = 'text of a user';
    const [plain, coded] = [newCallId(), newCallId()];
    await start(async ({ toolCallId }) => {
      throw toolCallId === coded ? new QuaestorError('JOURNAL_INVALID', secret) : new TypeError(secret);
    });
    await world.sender.send([callJob(plain), callJob(coded)]);
    await waitUntil(async () => (await queue().getFailedCount()) === 2, { what: 'both failures' });
    const jobs = await queue().getFailed();
    expect(new Set(jobs.map((job) => job.failedReason))).toEqual(new Set(['TypeError', 'JOURNAL_INVALID']));
    for (const job of jobs) expect(JSON.stringify(await world.redis.hgetall(`${world.prefix}:scratchpad:${job.id}`))).not.toContain(secret);
    expect(world.errors.filter((error) => error instanceof Error && error.message === secret)).toHaveLength(2);
  });

  it('takes no more jobs at once than it may', async () => {
    const release = Promise.withResolvers<void>();
    let most = 0;
    let done = 0;
    const processor: QueueProcessor<'scratchpad'> = await start(async () => {
      most = Math.max(most, processor.active);
      await release.promise;
      done++;
    }, 3);
    await world.sender.send(Array.from({ length: 10 }, () => callJob(newCallId())));
    await waitUntil(() => processor.active === 3, { what: 'three jobs' });
    release.resolve();
    await waitUntil(() => done === 10, { what: 'all jobs' });
    expect(most).toBe(3);
    await waitUntil(() => processor.active === 0, { what: 'rest' });
  });

  it('[Q-30] tells running jobs to hand over when it drains, waits for them, and takes no new ones', async () => {
    const handled: ToolCallId[] = [];
    const processor = await start(async ({ toolCallId }, signal) => {
      handled.push(toolCallId);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    });
    const running = newCallId();
    await world.sender.send([callJob(running)]);
    await waitUntil(() => handled.length === 1, { what: 'the running job' });
    await processor.close(5_000);
    expect(processor.active).toBe(0);
    await world.sender.send([callJob(newCallId())]);
    expect(handled).toEqual([running]);
    expect(await queue().getWaitingCount()).toBe(1);
    expect(await queue().getCompletedCount()).toBe(1);
  });
});
