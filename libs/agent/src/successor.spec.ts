import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunId, TenantId } from '#contracts';
import { AgentWorld, type AgentRunShape, type InProcessScript, type ModelAnswer, type ModelCall, type PlayedDependencies } from '#testing';
import { delegate, diligentWorker, isFinishing, link, note, read, search, supervisorOf, taskWord } from './spec-support/scripts.ts';

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

async function play(script: InProcessScript, shape: AgentRunShape = {}): Promise<{ runId: RunId; tenantId: TenantId }> {
  played = world.dependencies(script);
  const run = await world.newRun(shape);
  expect(await world.drive(played, run.runId)).toEqual([]);
  return run;
}

async function goOn(script: InProcessScript, tenantId: TenantId, runId: RunId, more: { credits?: number; seconds?: number }): Promise<RunId> {
  const successor = await world.resume(tenantId, runId, more);
  const { reads, searches } = played.web;
  played = world.dependencies(script);
  played.web.reads.push(...reads);
  played.web.searches.push(...searches);
  expect(await world.drive(played, successor)).toEqual([]);
  return successor;
}

const ledger = async (runId: RunId) => {
  const [row] = await world.rows('SELECT limit_microcredits / 1000000 AS bound, spent_microcredits / 1000000 AS spent, carried_microcredits / 1000000 AS carried, overrun_microcredits AS overrun FROM budgets WHERE root_run_id = ?', [runId]);
  return Object.fromEntries(Object.entries(row!).map(([name, value]) => [name, Number(value)])) as Record<'bound' | 'spent' | 'carried' | 'overrun', number>;
};
const free = { inputTokens: 1, outputTokens: 1 };

/** One worker reads and notes; another asks for more than there is. */
const poor: InProcessScript = (call) => {
  if (call.role === 'supervisor') return { ...(isFinishing(call) ? { text: `Partly ${link('alpha')}.` } : supervisorOf(['alpha', 'beta'])(call)), usage: free };
  const steps = [[search(taskWord(call))], [read(taskWord(call))], [note(`Found ${link(taskWord(call))}`)], Array.from({ length: 40 }, (_, index) => search(`${taskWord(call)} ${index}`))];
  return { ...(steps[call.step] ? { calls: steps[call.step]! } : { text: 'done' }), usage: free };
};
const cheap = (call: ModelCall): ModelAnswer => ({ ...(call.role === 'supervisor' ? supervisorOf(['alpha', 'beta'])(call) : diligentWorker(call)), usage: free });

describe('a stopped run that is resumed', () => {
  it('[Q-02] [Q-13] reads, searches and pays nothing twice, keeps its findings, and is answered by what was read before', async () => {
    const forgetful: InProcessScript = (call) => ({ ...(call.step === 0 ? { calls: [delegate('task alpha'), delegate('task beta')] } : { text: 'I forgot.' }), usage: free });
    const { runId, tenantId } = await play((call) => (call.role === 'supervisor' ? forgetful(call) : cheap(call)), { budgetCredits: 40 });
    const stopped = await world.run(runId);
    expect(stopped).toMatchObject({ stop_reason: 'insufficient_evidence' });
    // the tasks are worded anew, so that workers search and read again
    const anew: InProcessScript = (call) => ({ ...(call.results.length < 4 ? { calls: [delegate('again task alpha'), delegate('again task beta')] } : { text: `So it is ${link('alpha')} ${link('beta')}.` }), usage: free });
    const successor = await goOn((call) => (call.role === 'supervisor' ? anew(call) : cheap(call)), tenantId, runId, { credits: 100 });
    expect(await world.workers(successor)).toHaveLength(2);
    expect(await world.run(successor)).toMatchObject({ status: 'completed', stop_reason: 'answered', resumed_from: runId, thread_id: stopped['thread_id'], scratchpad_thread_id: stopped['scratchpad_thread_id'] });
    expect(played.web.reads.toSorted()).toEqual([...new Set(played.web.reads)].toSorted());
    expect(played.web.searches.toSorted()).toEqual([...new Set(played.web.searches)].toSorted());
    expect(await world.one('SELECT COUNT(*) FROM sources WHERE root_run_id = ?', [successor]).then(Number)).toBe(0);
    const [before, after] = [await ledger(runId), await ledger(successor)];
    expect(after).toMatchObject({ carried: before.spent, bound: before.bound + 100 });
    expect(await world.one(`SELECT COUNT(*) FROM reservations WHERE root_run_id = ? AND operation IN ('search', 'read')`, [successor]).then(Number)).toBe(0);
  });

  it('gives the very same task to a new worker, although the run before had one that ended; only its searches and reads come from the record', async () => {
    const forgetful: InProcessScript = (call) => ({ ...(call.step === 0 ? { calls: [delegate('task alpha')] } : { text: 'I forgot.' }), usage: free });
    const { runId, tenantId } = await play((call) => (call.role === 'supervisor' ? forgetful(call) : cheap(call)), { budgetCredits: 40 });
    const again: InProcessScript = (call) => ({ ...(call.results.length < 2 ? { calls: [delegate('task alpha')] } : { text: `So it is ${link('alpha')}.` }), usage: free });
    const successor = await goOn((call) => (call.role === 'supervisor' ? again(call) : cheap(call)), tenantId, runId, { credits: 10 });
    expect(await world.workers(successor)).toMatchObject([{ status: 'completed', stop_reason: 'answered' }]);
    expect(await world.run(successor)).toMatchObject({ stop_reason: 'answered' });
    expect(played.model.calls.some(({ role }) => role === 'worker')).toBe(true);
    expect(played.web.reads).toHaveLength(1);
    expect(played.web.searches).toHaveLength(1);
  });

  it('goes on with the whole conversation, after its answer and a message that names the open tasks', async () => {
    const { runId, tenantId } = await play(poor, { budgetCredits: 30 });
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'budget_exhausted' });
    await goOn(cheap, tenantId, runId, { credits: 100 });
    const { messages } = played.model.calls.find(({ role }) => role === 'supervisor')!.request;
    expect(messages[1]!.content).toBe('What is a lease?');
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(2);
    expect(messages.at(-2)!.content).toBe('What is a lease?');
    expect(messages.at(-1)!.content).toContain('its credits are used up');
    expect(messages.at(-1)!.content).toContain('- task');
  });

  it('[Q-25] has one successor, however many ask at once and later', async () => {
    const { runId, tenantId } = await play(poor, { budgetCredits: 30 });
    const successors = await Promise.all(Array.from({ length: 64 }, (_, index) => world.resume(tenantId, runId, { credits: 10 + index })));
    expect(new Set(successors).size).toBe(1);
    expect(await world.one('SELECT COUNT(*) FROM runs WHERE resumed_from = ?', [runId]).then(Number)).toBe(1);
    played = world.dependencies(cheap);
    await world.drive(played, successors[0]!);
    expect(await world.resume(tenantId, runId, { credits: 1 })).toBe(successors[0]);
  });

  it('[Q-23] cites what was read in its chain, and nothing else', async () => {
    const { runId, tenantId } = await play(poor, { budgetCredits: 30 });
    const successor = await goOn((call) => ({ text: call.role === 'supervisor' ? `It is so ${link('never-read')}.` : 'done', usage: free }), tenantId, runId, { credits: 100 });
    expect(await world.run(successor)).toMatchObject({ stop_reason: 'insufficient_evidence' });
    const third = await goOn((call) => ({ text: call.role === 'supervisor' ? `It is so ${link('alpha')}.` : 'done', usage: free }), tenantId, successor, { credits: 1 });
    expect(await world.run(third)).toMatchObject({ stop_reason: 'answered' });
    expect((await ledger(third)).carried).toBe((await ledger(successor)).spent);
  });
});

describe('a run is not resumed', () => {
  it.each([
    ['that was answered', {}, cheap, { credits: 1 }, 'RUN_NOT_RESUMABLE'],
    ['that ran out of credits, without more of them', { budgetCredits: 30 }, poor, { seconds: 100 }, 'INVALID_REQUEST'],
  ] as [string, AgentRunShape, InProcessScript, { credits?: number; seconds?: number }, string][])('%s', async (_what, shape, script, more, code) => {
    const { runId, tenantId } = await play(script, shape);
    await expect(world.resume(tenantId, runId, more)).rejects.toMatchObject({ code });
  });

  it('that has not ended, or belongs to another tenant', async () => {
    const { runId, tenantId } = await world.newRun();
    await expect(world.resume(tenantId, runId, { credits: 1 })).rejects.toMatchObject({ code: 'RUN_NOT_RESUMABLE' });
    const other = await world.newRun();
    await expect(world.resume(other.tenantId, runId, { credits: 1 })).rejects.toThrow('there is no run');
    played = world.dependencies(diligentWorker);
    for (const id of [runId, other.runId]) await world.cancels.request(id === runId ? tenantId : other.tenantId, id).then(() => world.cancels.endIdleRuns(id));
  });

  it('whose time was over, without more of it', async () => {
    const { runId, tenantId } = await play((call) => (call.role === 'supervisor' && call.step === 0 ? { calls: [delegate('task alpha')] } : { text: 'half', hangs: true }), { deadlineSeconds: 1 });
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'deadline_reached' });
    await expect(world.resume(tenantId, runId, { credits: 10 })).rejects.toMatchObject({ code: 'INVALID_REQUEST', details: { param: 'seconds' } });
    const again: InProcessScript = (call) => (call.role === 'supervisor' ? { ...(call.results.length < 2 ? { calls: [delegate('task alpha')] } : { text: `So it is ${link('alpha')}.` }), usage: free } : cheap(call));
    const successor = await goOn(again, tenantId, runId, { seconds: 60 });
    expect(await world.run(successor)).toMatchObject({ stop_reason: 'answered' });
  });
});
