import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { AgentWorld, type InProcessScript } from '#testing';
import { delegate, link, note, plan, read, readNotes, search, story } from './spec-support/scripts.ts';

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterAll(() => world.close());

/** One call a turn where order could matter: what runs side by side is committed in whichever order it ends. */
const script: InProcessScript = story(['alpha', 'beta'], {
  supervisor: (call) => [{ calls: [plan('the plan')] }, { calls: [delegate('task alpha')] }, { calls: [readNotes] }, { calls: [delegate('task beta')] }][call.step] ?? { text: `A right with an end ${link('alpha')}.` },
  worker: (call) => [{ calls: [search('lease')] }, { calls: [read('alpha')] }, { calls: [note('Found in alpha')] }][call.step] ?? { text: 'Task done.' },
});

const ID = /(?:run|thr|att|call|src|res|asst|ten|provider)[_-](?:[0-9a-v]{26}|\d+)/g;

/** Everything stored of a run, byte for byte, with ids by their order of appearance and times left out. */
async function storyOf(runId: RunId): Promise<string> {
  const { runs, sources, scratchpad } = await world.record(runId);
  const stored = {
    runs: runs.map((run) => ({ ...run, effects: [...run.effects].map((effect) => effect.replace(/_[0-9a-v]{26}/, '')).sort(), attempts: run.attempts.map((attempt) => ({ ...attempt, stream: attempt.stream?.replace(/"(?:time0?|dt)":(?:-?\d+|\[[^\]]*\])/g, '"time":0') })) })),
    sources,
    scratchpad,
    events: await world.rows('SELECT seq, type, body FROM run_events WHERE root_run_id = ? ORDER BY seq', [runId]),
  };
  const names = new Map<string, string>();
  return JSON.stringify(stored, (key, value: unknown) => (/(?:At|AtMs|msLeft|sequenceNo|leaseEpoch)$/.test(key) ? 0 : value), 1).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replace(ID, (id) => {
    const name = names.get(id) ?? `${id.slice(0, 3)}#${names.size}`;
    names.set(id, name);
    return name;
  });
}

async function play(): Promise<string> {
  const { runId } = await world.newRun();
  expect(await world.drive(world.dependencies(script), runId)).toEqual([]);
  return storyOf(runId);
}

it('[Q-31] the same question in the same world is the same story, byte for byte', async () => {
  const first = await play();
  expect(await play()).toBe(first);
  expect(first.length).toBeGreaterThan(5_000);
});
