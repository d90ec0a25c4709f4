import type { Redis } from 'ioredis';
import type { Job } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { QUEUES, type ToolCallId } from '#contracts';
import { FaultyRedis, TcpProxy, waitUntil } from '#testing';
import { checkRedis, connectRedis } from './connection.ts';
import { JobSender } from './job-sender.ts';
import { queuePrefix } from './names.ts';
import { QueueProcessor } from './processor.ts';
import { QueueKeeper } from './queue-keeper.ts';
import { callJob, newCallId } from './spec-support/queue-world.ts';

const SILENCE_MAX_MS = 1_500;
const SWEEP_MS = 100;
/** Work that was sent this long ago and is not done is sent again. */
const RESEND_AFTER_MS = 300;
const PREFIX = queuePrefix('faults');

let server: FaultyRedis;
let proxy: TcpProxy;
let stack: TestStack;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  server = await FaultyRedis.open();
  proxy = await TcpProxy.open(server.url, { receipts: server.receipts });
  stack = new TestStack();
  await stack.ready();
});
afterEach(async () => {
  await stack.close();
  for (const cleanup of cleanups.splice(0)) await cleanup();
  await proxy.close();
  await server.close();
});

/**
 * Two processors, a sender and a sweeper on one Redis. What the rows of a database hold is here in memory: calls that need work, their
 * delivery number, and the first settlement of each.
 */
class TestStack {
  readonly open = new Map<ToolCallId, { delivery: number; sentAtMs: number }>();
  readonly settled = new Map<ToolCallId, number>();
  readonly errors: unknown[] = [];
  executions = 0;
  hold: Promise<void> | undefined;
  readonly sender: JobSender;
  readonly processors: QueueProcessor<'scratchpad'>[];
  readonly #connections: Redis[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    const onError = (error: unknown): void => void this.errors.push(error);
    const connect = (kind: 'consumer' | 'producer'): Redis => {
      const redis = connectRedis(proxy.url, kind, onError, SILENCE_MAX_MS);
      this.#connections.push(redis);
      return redis;
    };
    this.sender = new JobSender({ redis: connect('producer'), prefix: PREFIX, outbox: { markSent: async () => undefined }, onError });
    this.processors = [1, 2].map(() => new QueueProcessor('scratchpad', ({ toolCallId }) => this.#settle(toolCallId), { redis: connect('consumer'), prefix: PREFIX, idleWaitSeconds: 1, onError }));
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS);
  }

  async ready(): Promise<void> {
    await Promise.all(this.processors.map((processor) => processor.ready()));
  }

  async #settle(toolCallId: ToolCallId): Promise<void> {
    this.executions++;
    await this.hold;
    if (!this.open.delete(toolCallId)) return;
    this.settled.set(toolCallId, (this.settled.get(toolCallId) ?? 0) + 1);
  }

  async #sweep(): Promise<void> {
    const late = [...this.open].filter(([, { sentAtMs }]) => performance.now() - sentAtMs > RESEND_AFTER_MS);
    for (const [, call] of late) Object.assign(call, { delivery: call.delivery + 1, sentAtMs: performance.now() });
    if (late.length > 0) await this.sender.send(late.map(([toolCallId, { delivery }]) => callJob(toolCallId, delivery)));
  }

  /** Commits work and sends its jobs. */
  async add(count: number): Promise<ToolCallId[]> {
    const calls = Array.from({ length: count }, newCallId);
    for (const toolCallId of calls) this.open.set(toolCallId, { delivery: 1, sentAtMs: performance.now() });
    await this.sender.send(calls.map((toolCallId) => callJob(toolCallId)));
    return calls;
  }

  async expectAllSettled(timeoutMs = 15_000): Promise<void> {
    await waitUntil(() => this.open.size === 0, { what: 'the settlement of all calls', timeoutMs });
    expect([...this.settled.values()].every((times) => times === 1)).toBe(true);
    // and the same processors go on
    const before = this.settled.size;
    await this.add(4);
    await waitUntil(() => this.settled.size === before + 4, { what: 'work after the fault', timeoutMs });
  }

  get queue() {
    return this.sender.queues.find(({ name }) => name === 'scratchpad')!;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.processors.map((processor) => processor.close(200)));
    await Promise.race([this.sender.close(), new Promise((resolve) => setTimeout(resolve, 500))]);
    for (const redis of this.#connections) redis.disconnect();
  }
}

const repeatedly = async (times: number, pauseMs: number, work: () => Promise<unknown>): Promise<void> => {
  for (let time = 0; time < times; time++) {
    await work();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
};

describe('[Q-14] [Q-15] nothing is lost, and the processors go on, when Redis', () => {
  it('[R01] is emptied every 100 ms', async () => {
    await repeatedly(20, 100, async () => {
      await stack.add(5);
      await server.inflict('FLUSHALL');
    });
    server.receipts.require('flushall', 20);
    await stack.expectAllSettled();
  });

  it('[R02] is killed without persistence and comes back empty', async () => {
    await stack.add(20);
    await server.kill();
    await stack.add(20);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await server.start();
    await stack.expectAllSettled();
  });

  it('[R03] comes back with an older copy, so that finished jobs appear again', async () => {
    let release = (): void => undefined;
    stack.hold = new Promise((resolve) => (release = resolve));
    await stack.add(10);
    await server.save();
    stack.hold = undefined;
    release();
    await waitUntil(() => stack.open.size === 0, { what: 'the first settlement' });
    const executions = stack.executions;
    await server.restore();
    await waitUntil(() => stack.executions > executions, { what: 'a job that was done before', timeoutMs: 20_000 });
    await stack.expectAllSettled();
  }, 40_000);

  it('[R05] fails over to a replica that lags, and is read-only at first', async () => {
    const replica = await FaultyRedis.open(server.receipts);
    cleanups.push(() => replica.close());
    await replica.command('REPLICAOF', '127.0.0.1', new URL(server.url).port);
    await stack.add(10);
    await waitUntil(async () => (await replica.command('EXISTS', `${PREFIX}:scratchpad:meta`)) === ':1', { what: 'the replica' });
    await stack.add(10);
    proxy.switchTo(replica.url);
    await stack.add(10);
    await waitUntil(() => stack.errors.some((error) => /READONLY/.test(String(error))), { what: 'a refused write' });
    await replica.inflict('REPLICAOF', 'NO', 'ONE');
    server.receipts.require('switch');
    server.receipts.require('replicaof');
    await stack.expectAllSettled();
  });

  it('[R06] is full: adds are refused and reported, and made up for later', async () => {
    await server.inflict('CONFIG', 'SET', 'maxmemory', '1');
    await stack.add(10);
    expect(stack.errors.some((error) => /OOM/.test(String(error)))).toBe(true);
    await server.inflict('CONFIG', 'SET', 'maxmemory', '0');
    await stack.expectAllSettled();
  });

  it('[R08] answers nobody for a while', async () => {
    await stack.add(10);
    await server.inflict('CLIENT', 'PAUSE', '1000', 'ALL');
    await stack.add(10);
    await stack.expectAllSettled();
  });

  it('[R09] ends every connection again and again', async () => {
    await repeatedly(30, 50, async () => {
      await stack.add(2);
      await server.inflict('CLIENT', 'KILL', 'TYPE', 'normal');
    });
    await stack.expectAllSettled();
  });

  it('[R10] is behind connections that are half open', async () => {
    await stack.add(5);
    await waitUntil(() => stack.open.size === 0, { what: 'work before the fault' });
    proxy.swallow();
    await stack.add(5);
    await waitUntil(() => server.receipts.count('swallow') >= 2, { what: 'lost bytes' });
    await proxy.heal();
    await stack.expectAllSettled();
  });

  it('[R22] took a job whose reply was lost', async () => {
    proxy.cutReplyTo('"toolCallId"', { isWholeReply: () => true });
    await stack.add(1);
    server.receipts.require('cut-reply');
    await stack.expectAllSettled();
  });

  it('[N02] is reached over connections that are reset', async () => {
    await repeatedly(30, 30, async () => {
      await stack.add(2);
      proxy.reset();
    });
    server.receipts.require('reset', 10);
    await stack.expectAllSettled();
  });

  it('[N03] is reached over a line of single bytes', async () => {
    proxy.poison({ sliceBytes: 1 });
    proxy.reset();
    await stack.add(10);
    server.receipts.require('slice');
    await stack.expectAllSettled();
  });
});

describe('[Q-02] an effect is kept once when', () => {
  const job = async (toolCallId: ToolCallId): Promise<Job> => (await stack.queue.getJob(`${toolCallId}.1`)) as Job;

  it('[R11] a call is delivered under two ids, and the lock of a third is deleted', async () => {
    const release = Promise.withResolvers<void>();
    stack.hold = release.promise;
    const [twice, unlocked] = (await stack.add(2)) as [ToolCallId, ToolCallId];
    await stack.sender.send([callJob(twice, 99)]);
    await waitUntil(() => stack.executions >= 3, { what: 'all three' });
    await server.inflict('DEL', `${PREFIX}:scratchpad:${unlocked}.1:lock`);
    expect(server.receipts.of('del')[0]?.evidence).toMatch(/:1$/);
    stack.hold = undefined;
    release.resolve();
    await stack.expectAllSettled();
  });

  it('[R19] the job of a call under way is deleted', async () => {
    const release = Promise.withResolvers<void>();
    stack.hold = release.promise;
    const [toolCallId] = (await stack.add(1)) as [ToolCallId];
    await waitUntil(() => stack.executions > 0, { what: 'the call' });
    await server.inflict('DEL', `${PREFIX}:scratchpad:${toolCallId}.1`);
    release.resolve();
    stack.hold = undefined;
    await waitUntil(() => stack.errors.some((error) => /Missing/.test(String(error))), { what: 'the report' });
    await stack.expectAllSettled();
  });

  it('[R21] an operator presses retry on a job that is done', async () => {
    const [toolCallId] = (await stack.add(1)) as [ToolCallId];
    await waitUntil(async () => (await (await job(toolCallId)).getState()) === 'completed', { what: 'the job' });
    const executions = stack.executions;
    await (await job(toolCallId)).retry('completed');
    await waitUntil(() => stack.executions === executions + 1, { what: 'the repeat' });
    await stack.expectAllSettled();
  });

  it('[R20] [Q-36] the data of a job is replaced by garbage, which is refused while the call gets another job', async () => {
    await Promise.all(stack.processors.map((processor) => processor.close(500)));
    const [toolCallId] = (await stack.add(1)) as [ToolCallId];
    await server.inflict('HSET', `${PREFIX}:scratchpad:${toolCallId}.1`, 'data', '{"toolCallId":"call_of another tenant","tenant":7}');
    const fresh = new QueueProcessor('scratchpad', async (payload) => void (stack.open.delete(payload.toolCallId) && stack.settled.set(payload.toolCallId, 1)), { redis: connectRedis(proxy.url, 'consumer', () => undefined), prefix: PREFIX, onError: (error) => void stack.errors.push(error) });
    cleanups.push(() => fresh.close(500));
    await waitUntil(() => stack.settled.has(toolCallId), { what: 'the next delivery' });
    expect(stack.errors.some((error) => /toolCallId/.test(String(error)))).toBe(true);
  });

  it('[R16] the stream of events is trimmed to nothing', async () => {
    await stack.add(5);
    await server.inflict('XTRIM', `${PREFIX}:scratchpad:events`, 'MAXLEN', '0');
    await stack.expectAllSettled();
  });

  it('[R12] a job stalls more often than BullMQ would allow by default', () => {
    expect(Object.values(QUEUES).map(({ maxStalledCount }) => maxStalledCount)).toEqual([1_000, 1_000, 1_000]);
  });
});

it.each(['allkeys-lru', 'volatile-ttl'])('[R06] [Q-14] a Redis that may evict keys (%s) is refused at boot', async (policy) => {
  await server.inflict('CONFIG', 'SET', 'maxmemory-policy', policy);
  await expect(checkRedis(server.url)).rejects.toMatchObject({ code: 'REDIS_EVICTS_KEYS', message: expect.stringContaining(policy) as string });
  await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await checkRedis(server.url);
});

describe('[R15] [Q-14] the queues of a former incarnation', () => {
  it('stay while somebody keeps them, and go once nobody has for long enough', async () => {
    const redis = connectRedis(server.url, 'producer', () => undefined);
    cleanups.push(() => redis.disconnect());
    await waitUntil(() => redis.status === 'ready', { what: 'the connection' });
    const former = queuePrefix('former*life');
    const sender = new JobSender({ redis, prefix: former, outbox: { markSent: async () => undefined }, onError: (error) => expect.fail(String(error)) });
    await sender.send([callJob(newCallId())]);
    const keeper = new QueueKeeper(redis, queuePrefix('new'), 1);
    // its own stack says that it is used, another one has only just seen it
    await new QueueKeeper(redis, former, 60).tend();
    expect(await keeper.tend()).toEqual([]);
    await server.inflict('DEL', `${former}:kept`);
    expect(await keeper.tend()).toEqual([]);
    const removed = await waitUntil(async () => ((list) => (list.includes(former) ? list : null))(await keeper.tend()), { what: 'the end of the former queues' });
    expect(removed).toEqual([former]);
    expect((await redis.keys('*')).filter((key) => key.startsWith(former))).toEqual([]);
    // the stack of this spec never kept its queues either, and has lost none of its work
    await stack.expectAllSettled();
  });
});
