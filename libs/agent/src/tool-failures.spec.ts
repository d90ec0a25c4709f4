import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { killedItsProcess, SUSPECT_DEATHS, type IsolatedCall, type ToolIsolation } from '#domain';
import { AgentWorld, type PlayedDependencies } from '#testing';
import { read, search, story } from './spec-support/scripts.ts';

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  await world.close();
});

const script = story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [search('x'), read('alpha')] } : { text: 'done' }) });

/** A run whose worker fails in its tools for a failure of the stores; its run and the calls are left open. */
async function interrupted(): Promise<{ played: PlayedDependencies; runId: RunId; workerId: RunId; failures: unknown[] }> {
  const played = world.dependencies(script);
  played.web.before = (what) => (what === 'x' ? Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', fatal: true })) : undefined);
  const { runId } = await world.newRun();
  const failures = await world.drive(played, runId);
  played.web.before = () => undefined;
  return { played, runId, workerId: (await world.workers(runId))[0]!['id'] as RunId, failures };
}

describe('a failure of the stores inside a tool', () => {
  it('[Q-15] [Q-13] is no failure of the call: it stays open with its reservation, and another claim carries it out', async () => {
    const { played, runId, workerId, failures } = await interrupted();
    expect(failures).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(await world.calls(workerId)).toMatchObject([{ name: 'perform_web_search', status: 'open', error_code: null }, { name: 'read_web_page', status: 'succeeded' }]);
    await world.recover(played, runId);
    expect(await world.calls(workerId)).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
    expect(await world.rows(`SELECT operation, state FROM reservations WHERE run_id = ? AND operation IN ('search', 'read') ORDER BY operation`, [workerId])).toEqual([{ operation: 'read', state: 'settled' }, { operation: 'search', state: 'settled' }]);
    expect(played.web.reads).toHaveLength(1);
  });
});

describe('[Q-16] a suspected call', () => {
  /** As after two deaths of the worker's process. */
  async function recovered(isolation: ToolIsolation): Promise<{ runId: RunId; workerId: RunId; played: PlayedDependencies }> {
    const { played, runId, workerId } = await interrupted();
    await world.sql.change(`UPDATE tool_calls SET deaths = ? WHERE run_id = ? AND status = 'open'`, [SUSPECT_DEATHS, workerId]);
    await world.recover({ ...played, deps: { ...played.deps, isolation } }, runId);
    return { runId, workerId, played };
  }

  it('is carried out by the isolation alone, and settles as any other', async () => {
    const isolated: IsolatedCall[] = [];
    const { runId, workerId, played } = await recovered({
      execute: async (call) => {
        isolated.push(call);
        return { kind: 'settled', result: { kind: 'text', text: 'found alone' } };
      },
    });
    expect(isolated).toMatchObject([{ tool: 'perform_web_search', args: { query: 'x' }, caller: { runId: workerId, rootRunId: runId } }]);
    expect(played.web.searches).toEqual(['x']);
    expect(await world.calls(workerId)).toMatchObject([{ status: 'succeeded', deaths: SUSPECT_DEATHS }, { status: 'succeeded', deaths: 0 }]);
  });

  it('that kills its own process too ends with an error, spent, and its run goes on', async () => {
    const { runId, workerId } = await recovered({ execute: () => Promise.reject(killedItsProcess()) });
    expect(await world.calls(workerId)).toMatchObject([{ status: 'failed', error_code: 'TOOL_KILLED_PROCESS', deaths: 3 }, { status: 'succeeded', deaths: 0 }]);
    expect(await world.one(`SELECT charge_microcredits FROM reservations WHERE run_id = ? AND operation = 'search'`, [workerId])).toBe('1000000');
    expect(await world.run(runId)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
  });

  it('[Q-15] stays open when the stores fail in its parent', async () => {
    const { played, runId, workerId } = await interrupted();
    await world.sql.change(`UPDATE tool_calls SET deaths = ? WHERE run_id = ? AND status = 'open'`, [SUSPECT_DEATHS, workerId]);
    await world.sql.change(`UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 MINUTE WHERE id = ?`, [workerId]);
    const isolation: ToolIsolation = { execute: () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET', fatal: true })) };
    expect(await world.drive({ ...played, deps: { ...played.deps, isolation } }, workerId)).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(await world.calls(workerId)).toMatchObject([{ status: 'open', deaths: SUSPECT_DEATHS }, { status: 'succeeded' }]);
    await world.recover(played, runId);
  });
});
