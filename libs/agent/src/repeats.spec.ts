import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { AgentWorld, type AgentRunShape, type InProcessScript, type PlayedDependencies } from '#testing';
import { delegate, isFinishing, link, note, read, search, story, taskWord } from './spec-support/scripts.ts';

let world: AgentWorld;
let played: PlayedDependencies;
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterEach(() => expect(played.model.problems).toEqual([]));
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  expect(await world.replayDifferences()).toEqual([]);
  await world.close();
});

async function play(script: InProcessScript, shape: AgentRunShape = {}): Promise<RunId> {
  played = world.dependencies(script);
  const { runId } = await world.newRun(shape);
  expect(await world.drive(played, runId)).toEqual([]);
  return runId;
}

const workerCalls = async (runId: RunId) => {
  const [worker] = await world.workers(runId);
  return (await world.calls(worker!['id'] as RunId)).map((call) => ({ code: call['error_code'] as string | null, paid: call['reservation_id'] !== null }));
};
const paidFor = (operation: string, runId: RunId) => world.one<number>('SELECT COUNT(*) FROM reservations WHERE root_run_id = ? AND operation = ?', [runId, operation]);

describe('a worker that makes the same call again', () => {
  it('[L41] is answered from the record for nothing, warned, and stopped; its findings reach the report', async () => {
    const runId = await play(story(['alpha'], {
      worker: (call) => ({ calls: call.step === 0 ? [note(`Found in alpha ${link('alpha')}`), read('alpha'), search('Alpha  news')] : [search(call.step % 2 === 0 ? 'alpha news' : ' ALPHA NEWS')] }),
    }));
    expect(await workerCalls(runId)).toEqual([
      { code: null, paid: false }, { code: null, paid: true }, { code: null, paid: true },
      { code: null, paid: false }, { code: 'CALL_REPEATED', paid: false }, { code: 'CALL_REPEATED', paid: false },
    ]);
    expect(played.web.searches).toEqual(['Alpha  news']);
    const [worker] = await world.workers(runId);
    expect(worker).toMatchObject({ stop_reason: 'loop_detected', last_error_code: 'LOOP_DETECTED', turn: 4 });
    const again = played.model.calls.filter(({ role }) => role === 'worker')[2]!.results;
    expect(again.at(-1)!.content).toBe(again.at(-2)!.content);
    expect((await world.run(runId))['report']).toContain('made the same call');
  });

  it('[L41] sixty different searches are no loop', async () => {
    const runId = await play(story(['alpha'], {
      worker: (call) => (call.step === 0 ? { calls: Array.from({ length: 60 }, (_, index) => search(`query ${index}`)) } : { text: 'done' }),
    }));
    expect(played.web.searches).toHaveLength(60);
    expect((await world.workers(runId))[0]).toMatchObject({ stop_reason: 'answered' });
  });

  it('[Q-13] pays once for one page, whatever its spelling and however often it stands in one answer', async () => {
    const spellings = ['https://pages.test/alpha', 'HTTPS://PAGES.TEST:443/alpha#part', 'https://pages.test/alpha?utm_source=x'];
    const runId = await play(story(['alpha'], {
      worker: (call) => (call.step === 0 ? { calls: spellings.map((url) => ({ name: 'read_web_page', arguments: { url } })) } : { text: 'done' }),
    }));
    expect(await workerCalls(runId)).toEqual([{ code: null, paid: true }, { code: 'CALL_REPEATED', paid: false }, { code: 'CALL_REPEATED', paid: false }]);
    expect([played.web.reads.length, await paidFor('read', runId)].map(Number)).toEqual([1, 1]);
  });
});

it('[L41] a supervisor that repeats itself ends with its report and one reason', async () => {
  const runId = await play(story(['alpha'], { supervisor: (call) => (isFinishing(call) ? { text: `So far ${link('alpha')}.` } : { calls: [delegate('task alpha')] }) }));
  const run = await world.run(runId);
  expect(run).toMatchObject({ status: 'incomplete', stop_reason: 'loop_detected' });
  expect(run['report']).toContain('it repeated itself');
  expect(run['report']).toContain('So far');
  expect(await world.workers(runId)).toHaveLength(1);
});

it('[L41] a loop is still one when every turn of it is another process', async () => {
  const drains: AbortController[] = [];
  played = world.dependencies(story(['alpha'], {
    worker: () => {
      drains.at(-1)?.abort();
      return { calls: [search('the same')] };
    },
  }));
  const { runId } = await world.newRun();
  const oneTurn = () => drains[drains.push(new AbortController()) - 1]!.signal;
  await world.drive(played, runId, ({ loaded }) => (loaded.run.role === 'worker' ? { drain: oneTurn() } : {}));
  expect((await world.workers(runId))[0]).toMatchObject({ stop_reason: 'loop_detected', turn: 4 });
  expect(drains.length).toBeGreaterThan(3);
  expect(played.web.searches).toHaveLength(1);
});

describe('hosts of a run', () => {
  const reading: InProcessScript = story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [search(taskWord(call))] } : call.step === 1 ? { calls: [read('alpha')] } : { text: 'done' }) });

  it('[Q-29] an address outside of them is refused before it costs anything, and no result leads there', async () => {
    const runId = await play(reading, { hostPolicy: { allowed: ['other.test'], denied: [] } });
    expect(await workerCalls(runId)).toEqual([{ code: null, paid: true }, { code: 'URL_REFUSED', paid: false }]);
    expect(played.web.reads).toEqual([]);
    expect(played.model.calls.filter(({ role }) => role === 'worker')[1]!.results.at(-1)!.content).toContain('on hosts that this run may not read');
  });

  it('an address inside of them is read', async () => {
    const runId = await play(reading, { hostPolicy: { allowed: ['pages.test'], denied: ['other.test'] } });
    expect(await workerCalls(runId)).toEqual([{ code: null, paid: true }, { code: null, paid: true }]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });
});
