import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ToolCallId } from '#contracts';
import { ScratchpadWriteRepository } from '#database';
import { mintId } from '#domain';
import { Runtime, runtimeConfig } from '#runtime';
import { AgentWorld, risesOf, waitUntil, type InProcessScript } from '#testing';
import { randomBytes } from 'node:crypto';
import { ScratchpadProcessor } from './scratchpad.processor.ts';

let world: AgentWorld;
let runtime: Runtime;
let processor: ScratchpadProcessor;
const failing = new Set<string>();

beforeAll(async () => {
  world = await AgentWorld.open();
  const config = runtimeConfig.parse({ DATABASE_URL: world.database.url, REDIS_URL: world.database.redisUrl, LOG_LEVEL: 'silent', DRAIN_GRACE_MS: '1000' });
  runtime = await Runtime.open('spec', config);
  const rows = new ScratchpadWriteRepository(world.sql);
  const breakable = new Proxy(rows, {
    get: (target, name) =>
      name === 'settle'
        ? (...given: Parameters<typeof rows.settle>) => (failing.has(given[0]) ? Promise.reject(new Error('the database is away')) : target.settle(...given))
        : (Reflect.get(target, name) as (...given: unknown[]) => unknown).bind(target),
  });
  processor = new ScratchpadProcessor(runtime, config, breakable);
  await processor.onApplicationBootstrap();
});
afterAll(async () => {
  await processor.beforeApplicationShutdown();
  await runtime.close();
  await world.close();
});

/** A run with one note of each kind, left open as a dead supervisor leaves them. */
async function openCalls(): Promise<ToolCallId[]> {
  const script: InProcessScript = () => ({ calls: [{ name: 'append_scratchpad', arguments: { note: 'a note' } }, { name: 'update_scratchpad', arguments: { content: 'a body' } }, { name: 'append_scratchpad', arguments: { note: 'lost' } }] });
  const { runId } = await world.newRun();
  const died = () => Promise.reject(new Error('died here'));
  await expect(world.advance(world.dependencies(script, { send: died }), runId)).rejects.toThrow('died here');
  return (await world.calls(runId)).map((call) => call['id'] as ToolCallId);
}

it('[Q-22] counts what became of each write', async () => {
  const [append, update, broken] = (await openCalls()) as [ToolCallId, ToolCallId, ToolCallId];
  const unreadable = (await openCalls())[0]!;
  await world.sql.change(`UPDATE tool_calls SET arguments = '{}' WHERE id = ?`, [unreadable]);
  failing.add(broken);
  const done: [string, ToolCallId, string][] = [
    ['append", outcome="settled', append, 'first'],
    ['update", outcome="settled', update, 'first'],
    ['none", outcome="repeated', append, 'again'],
    ['none", outcome="repeated', mintId<ToolCallId>('call', randomBytes(17)), 'unknown'],
    ['none", outcome="refused', unreadable, 'first'],
    ['append", outcome="failed', broken, 'first'],
  ];
  for (const [labels, toolCallId, delivery] of done) {
    const series = `scratchpad_writes_total{operation="${labels.replace(', ', ',')}"}`;
    const rises = await risesOf([series], async () => {
      await runtime.sender.send([{ queue: 'scratchpad', jobId: `${toolCallId}.${delivery}`, payload: { toolCallId } }]);
      const queue = runtime.sender.queues.find(({ name }) => name === 'scratchpad')!;
      await waitUntil(async () => ['completed', 'failed'].includes(await queue.getJobState(`${toolCallId}.${delivery}`)), { what: `the end of ${series}` });
    });
    expect(rises).toEqual({ [series]: 1 });
  }
});
