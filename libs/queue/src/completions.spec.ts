import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ToolCallId } from '#contracts';
import { waitUntil } from '#testing';
import { Completions } from './completions.ts';
import { QueueProcessor } from './processor.ts';
import { callJob, newCallId, QueueWorld } from './spec-support/queue-world.ts';

let world: QueueWorld;
let processor: QueueProcessor<'scratchpad'>;
beforeAll(async () => {
  world = await QueueWorld.open();
  processor = new QueueProcessor('scratchpad', async ({ toolCallId }) => { if (failing.has(toolCallId)) throw new Error('no luck'); }, { redis: world.connect(), prefix: world.prefix, onError: world.onError });
  await processor.ready();
});
afterAll(async () => {
  await processor?.close(1_000);
  await world?.close();
});

const failing = new Set<ToolCallId>();
const open = () => Completions.open('scratchpad', { redisUrl: world.redisUrl, prefix: world.prefix, onError: world.onError });

it('[Q-32] hears the first completion of a fresh process, 20 times of 20', async () => {
  for (let trial = 0; trial < 20; trial++) {
    const completions = await open();
    const heard: ToolCallId[] = [];
    completions.listen((toolCallId) => heard.push(toolCallId));
    const toolCallId = newCallId();
    await world.sender.send([callJob(toolCallId, trial + 1)]);
    await waitUntil(() => heard.length > 0, { what: `the completion of trial ${trial}`, timeoutMs: 3_000, intervalMs: 2 });
    expect(heard).toEqual([toolCallId]);
    await completions.close();
  }
}, 60_000);

it('hears failed jobs too, and nothing after a listener has left', async () => {
  const completions = await open();
  const heard: ToolCallId[] = [];
  const left: ToolCallId[] = [];
  completions.listen((toolCallId) => heard.push(toolCallId));
  completions.listen((toolCallId) => left.push(toolCallId))();
  const [bad, good] = [newCallId(), newCallId()];
  failing.add(bad);
  await world.sender.send([callJob(bad), callJob(good)]);
  await waitUntil(() => heard.length === 2, { what: 'both jobs' });
  expect(new Set(heard)).toEqual(new Set([bad, good]));
  expect(left).toEqual([]);
  await completions.close();
});

it('does not tell again what was completed before it was opened', async () => {
  const first = await open();
  const before = newCallId();
  const seen: ToolCallId[] = [];
  first.listen((toolCallId) => seen.push(toolCallId));
  await world.sender.send([callJob(before)]);
  await waitUntil(() => seen.includes(before), { what: 'the first job' });
  const second = await open();
  const heard: ToolCallId[] = [];
  second.listen((toolCallId) => heard.push(toolCallId));
  const after = newCallId();
  await world.sender.send([callJob(after)]);
  await waitUntil(() => heard.length > 0, { what: 'the second job' });
  expect(heard).toEqual([after]);
  await Promise.all([first.close(), second.close()]);
});
