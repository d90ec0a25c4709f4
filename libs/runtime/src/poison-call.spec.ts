import { afterAll, beforeAll, expect, it } from 'vitest';
import { countCalls, pageUrl, type ModelScript } from '#testing';
import { AdvanceWorld } from './spec-support/advance-world.ts';

let world: AdvanceWorld;

/** A worker that asks for a search, a good page and a deadly one in one turn, and says what it has then. */
const script: ModelScript = {
  name: 'poison',
  description: 'one worker, one deadly call among good ones: poison(what=kill)',
  answer(request) {
    if (request.role !== 'worker') {
      if (countCalls(request, 'delegate_research_task') === 0) return { calls: [{ name: 'delegate_research_task', arguments: { task: `[task 0] ${request.carried}` } }] };
      return { text: `A lease is a right with an end [source](${pageUrl(request, 0, 1)}).` };
    }
    if (request.calls.length > 0) return { text: `Done: ${request.calls.filter(({ result }) => result.startsWith('ERROR')).length} of my calls failed.` };
    return {
      calls: [
        { name: 'perform_web_search', arguments: { query: `slot 0 run.${request.runId}` } },
        { name: 'read_web_page', arguments: { url: `${request.webUrl}/deadly/${request.parameters.get('what')}?run=${request.runId}` } },
        { name: 'read_web_page', arguments: { url: pageUrl(request, 0, 1) } },
      ],
    };
  },
};

beforeAll(async () => {
  world = await AdvanceWorld.open(script);
});
afterAll(async () => {
  expect(await world.rows.brokenPromises()).toEqual([]);
  await world.close();
});

it.each([['[P11] kills its process', 'kill'], ['[P09] fills the heap of its process', 'memory']])('[Q-16] a call that %s ends with an error after its third death, and its run goes on', async (_what, what) => {
  const { runId } = await world.rows.newRun({ question: `What is a lease? poison(what=${what}) run.${what}` });
  expect(await world.advance(runId)).toBe(0);
  const workerId = await world.workerOf(runId);
  for (const deaths of [1, 2]) {
    expect(await world.advance(workerId)).toBeNull();
    await world.lapsed(workerId);
    expect((await world.rows.calls(workerId)).every((call) => call['status'] === 'open' || call['status'] === 'succeeded')).toBe(true);
    expect(await world.rows.one('SELECT MAX(deaths) FROM tool_calls WHERE run_id = ?', [workerId])).toBe(deaths - 1);
  }
  expect(await world.advance(workerId)).toBe(0);
  expect(await world.advance(runId)).toBe(0);

  const [search, deadly, good] = await world.rows.calls(workerId);
  expect(deadly).toMatchObject({ status: 'failed', error_code: 'TOOL_KILLED_PROCESS', deaths: 3, result: expect.stringContaining('3 times') as string });
  expect([search, good]).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
  expect(await world.rows.calls(runId)).toMatchObject([{ name: 'delegate_research_task', status: 'succeeded', deaths: 0 }]);
  expect(JSON.parse((await world.rows.calls(runId))[0]!['result'] as string)).toMatchObject({ text: 'Done: 1 of my calls failed.' });
  expect(await world.rows.run(runId)).toMatchObject({ stop_reason: 'answered' });
  expect(await world.rows.attempts(workerId)).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }]);
  expect(await world.rows.rows(`SELECT operation, COUNT(*) AS paid FROM reservations WHERE run_id = ? AND operation IN ('search', 'read') GROUP BY operation ORDER BY operation`, [workerId])).toEqual([{ operation: 'read', paid: '2' }, { operation: 'search', paid: '1' }]);
  const record = world.model.records.list().find(({ id }) => id === what);
  expect(record).toMatchObject({ modelRequests: 4, firstProblem: null });
}, 60_000);
