import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import type { Row } from '#database';
import { countCalls, pageUrl, waitUntil, type ModelScript } from '#testing';
import { AdvanceWorld } from './spec-support/advance-world.ts';

const gate = mkdtempSync(path.join(tmpdir(), 'quaestor-gate-'));
const atGate = (position: number) => waitUntil(() => existsSync(path.join(gate, `at-gate-${position}`)), { what: `process ${position} at its call` });
const letGo = (position: number): void => writeFileSync(path.join(gate, `go-${position}`), '');
let world: AdvanceWorld;

/** A worker whose one call blocks the event loop of its process. */
const script: ModelScript = {
  name: 'blocked',
  description: 'one worker with a call that blocks its process',
  answer(request) {
    if (request.role !== 'worker') {
      if (countCalls(request, 'delegate_research_task') === 0) return { calls: [{ name: 'delegate_research_task', arguments: { task: `[task 0] ${request.carried}` } }] };
      return { text: `Nothing was read [source](${pageUrl(request, 0, 1)}).` };
    }
    if (request.calls.length > 0) return { text: 'Done.' };
    return { calls: [{ name: 'read_web_page', arguments: { url: `${request.webUrl}/deadly/gate?run=${request.runId}&folder=${gate}` } }] };
  },
};

beforeAll(async () => {
  world = await AdvanceWorld.open(script, { EVENT_LOOP_BLOCKED_MAX_MS: '1000' });
});
afterAll(async () => {
  rmSync(gate, { recursive: true, force: true });
  expect(await world.rows.brokenPromises()).toEqual([]);
  await world.close();
});

/** Everything the loop could write of the tree. */
async function written(rootRunId: RunId): Promise<Record<string, Row[]>> {
  const contents: Record<string, Row[]> = { runs: await world.rows.rows('SELECT * FROM runs WHERE root_run_id = ? ORDER BY run_no', [rootRunId]) };
  for (const table of ['attempts', 'tool_calls', 'reservations', 'run_events', 'sources', 'budgets']) contents[table] = await world.rows.rows(`SELECT * FROM ${table} WHERE root_run_id = ? ORDER BY 1, 2`, [rootRunId]);
  return contents;
}

it('[Q-03] [P07] a process whose event loop stood still for longer than its lease finds the run taken, and changes nothing', async () => {
  const { runId } = await world.rows.newRun({ question: 'What is a lease? blocked(a1) run.blocked' });
  expect(await world.advance(runId)).toBe(0);
  const workerId = await world.workerOf(runId);
  const blocked = world.advance(workerId);
  await atGate(1);
  await world.lapsed(workerId);
  // this one stands at the same call, and meanwhile the first wakes up
  const successor = world.advance(workerId);
  await atGate(2);
  const before = await written(runId);
  letGo(1);
  expect(await blocked).toBe(0);
  expect(await written(runId)).toEqual(before);
  expect(before['tool_calls']!.filter(({ status }) => status === 'open')).toHaveLength(2);

  letGo(2);
  expect(await successor).toBe(0);
  expect(await world.advance(runId)).toBe(0);
  expect(await world.rows.calls(workerId)).toMatchObject([{ status: 'succeeded', deaths: 1 }]);
  expect(await world.rows.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'insufficient_evidence' });
  expect(world.model.records.list()).toMatchObject([{ modelRequests: 4 }]);
}, 60_000);
