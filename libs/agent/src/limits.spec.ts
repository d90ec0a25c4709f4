import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DELEGATIONS_PER_RUN_MAX, QuaestorError, type RunId } from '#contracts';
import { promptPolicy } from '#domain';
import { aborted, AgentWorld, type AgentRunShape, type DependencyOverrides, type InProcessScript, type ModelAnswer, type PlayedDependencies } from '#testing';
import { delegate, diligentWorker, isFinishing, link, note, plan, read, search, story, supervisorOf, taskWord } from './spec-support/scripts.ts';

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

async function play(script: InProcessScript, shape: AgentRunShape = {}, overrides: DependencyOverrides = {}): Promise<RunId> {
  played = world.dependencies(script, overrides);
  const { runId } = await world.newRun(shape);
  expect(await world.drive(played, runId)).toEqual([]);
  return runId;
}

const ledger = async (runId: RunId) => {
  const [row] = await world.rows('SELECT limit_microcredits / 1000000 AS bound, spent_microcredits / 1000000 AS spent, reserved_microcredits AS reserved FROM budgets WHERE root_run_id = ?', [runId]);
  return { spent: Number(row!['spent']), reserved: Number(row!['reserved']) };
};
const callsOf = (role: string) => played.model.calls.filter((call) => call.role === role);
const resultsOf = async (runId: RunId) => (await world.calls(runId)).map((call) => JSON.parse(call['result'] as string) as { kind: string; code?: string; findings?: number });

describe('delegations', () => {
  it(`[Q-17] beyond ${DELEGATIONS_PER_RUN_MAX} are refused, and the report says that this limit was met`, async () => {
    const supervisor: InProcessScript = (call) => {
      if (call.step === 0) return { calls: [delegate('task alpha')] };
      if (call.step === 1) return { calls: Array.from({ length: DELEGATIONS_PER_RUN_MAX - 1 }, (_, index) => delegate(`task nothing ${index}`)) };
      return call.step === 2 ? { calls: [delegate('task beta')] } : { text: `A lease ends ${link('alpha')}.` };
    };
    const runId = await play(story(['alpha'], { supervisor, worker: (call) => (taskWord(call) === 'alpha' ? diligentWorker(call) : { text: 'done' }) }));
    expect((await resultsOf(runId)).filter(({ code }) => code === 'DELEGATION_LIMIT_REACHED')).toHaveLength(1);
    const run = await world.run(runId);
    expect(run).toMatchObject({ stop_reason: 'answered', limits_hit: 'delegation_limit' });
    expect(run['report']).toContain('Limits met');
  });
});

describe('turns', () => {
  it.each([1, 2, 3, 8])('[Q-17] a worker that never answers makes exactly %i model calls and fails with what it found', async (workerTurns) => {
    const runId = await play(story(['alpha'], { worker: (call) => ({ calls: [call.step === 0 ? note(`first ${link('alpha')}`) : search(`look ${call.step}`)] }) }), { workerTurns });
    expect(callsOf('worker')).toHaveLength(workerTurns);
    expect(callsOf('worker').map(({ tools }) => tools.length > 0)).toEqual(Array.from({ length: workerTurns }, (_, index) => index < workerTurns - 1));
    const [result] = await resultsOf(runId);
    expect(result).toMatchObject({ kind: 'error', code: 'TURNS_EXHAUSTED', findings: workerTurns > 1 ? 1 : 0 });
    expect((await world.workers(runId))[0]).toMatchObject({ status: 'incomplete', stop_reason: 'turns_exhausted', turn: workerTurns });
  });

  it('announces the end before it comes, in a note that is not kept', async () => {
    await play(story(['alpha'], { worker: (call) => ({ calls: [search(`look ${call.step}`)] }) }), { workerTurns: 3 });
    const last = callsOf('worker').map(({ request }) => request.messages.at(-1)!);
    expect(last.map(({ role, content }) => role === 'user' && /Two turns are left|last turn/.test(content))).toEqual([false, true, true]);
    expect(callsOf('worker')[2]!.request.messages.filter(({ content }) => content.includes('Two turns are left'))).toEqual([]);
  });

  it('[Q-17] a supervisor without turns writes its report in one more call without tools, from what was found', async () => {
    const supervisor: InProcessScript = (call) => {
      if (isFinishing(call)) return { text: `So far: a right with an end ${link('alpha')}.` };
      return { calls: [call.step === 0 ? delegate('task alpha') : plan('once more')] };
    };
    const runId = await play(story(['alpha'], { supervisor }), { supervisorTurns: 3 });
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'incomplete', stop_reason: 'turns_exhausted' });
    expect(run['report']).toMatch(/^> \*\*Incomplete report\.\*\* The run stopped because its turns were used up/);
    expect(run['report']).toContain('So far: a right with an end');
    expect(callsOf('supervisor')).toHaveLength(4);
    const finishing = callsOf('supervisor').at(-1)!;
    expect(finishing.tools).toEqual([]);
    expect(finishing.request.messages.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
    expect(finishing.request.messages.at(-1)!.content).toContain('Found in alpha');
  });

  it('shows the findings themselves when the finishing call gives no text', async () => {
    const runId = await play(story(['alpha'], { supervisor: (call) => ({ calls: [call.step === 0 ? delegate('task alpha') : plan('once more')] }) }), { supervisorTurns: 2 });
    expect(await world.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'turns_exhausted' });
    expect((await world.run(runId))['report']).toContain('Found in alpha');
  });

  it('shows the findings themselves when the finishing call fails, and names the failure', async () => {
    const supervisor: InProcessScript = (call) => (isFinishing(call) ? { error: new QuaestorError('MODEL_REQUEST_REFUSED', 'The model refuses.') } : { calls: [call.step === 0 ? delegate('task alpha') : plan('x')] });
    const runId = await play(story(['alpha'], { supervisor }), { supervisorTurns: 2 });
    expect(await world.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'turns_exhausted', last_error_code: 'MODEL_REQUEST_REFUSED' });
    expect((await world.run(runId))['report']).toContain('Found in alpha');
  });
});

describe('credits', () => {
  it('[Q-12] a budget below the finishing allowance starts no paid call at all, and says so', async () => {
    const runId = await play(story(['alpha']), { budgetCredits: 0 });
    expect(played.model.calls).toEqual([]);
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'incomplete', stop_reason: 'budget_exhausted' });
    expect(run['report']).toContain('its credits were used up');
    expect(run['report']).toContain('No findings were recorded');
    expect(await ledger(runId)).toEqual({ spent: 0, reserved: 0 });
    expect(await world.rows('SELECT 1 FROM attempts WHERE run_id = ?', [runId])).toEqual([]);
  });

  it('a model without a price runs on no budget at all', async () => {
    const runId = await play((call) => ({ text: `Nothing cited ${call.task}` }), { budgetCredits: 0 }, { price: { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 } });
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'insufficient_evidence' });
  });

  it('[Q-12] workers that use the budget up get error results and end; the root run still writes its report from its allowance', async () => {
    const usage = { inputTokens: 400, outputTokens: 900 };
    const greedy: InProcessScript = (call) => ({ ...(call.step === 0 ? { calls: [note(`Found in ${taskWord(call)} ${link('alpha')}`), read('alpha')] } : { calls: [search(`${taskWord(call)} ${call.step}`), read(`${taskWord(call)}-${call.step}`)] }), usage });
    const runId = await play((call) => (call.role === 'worker' ? greedy(call) : { ...(isFinishing(call) ? { text: `Partly: ${link('alpha')}.` } : supervisorOf(['alpha', 'beta'])(call)), usage }), { budgetCredits: 30, workerTurns: 20 });
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'incomplete', stop_reason: 'budget_exhausted' });
    expect(run['report']).toContain('Partly:');
    const results = await resultsOf(runId);
    expect(results.map(({ code }) => code)).toEqual(['BUDGET_EXHAUSTED', 'BUDGET_EXHAUSTED']);
    expect(results.map(({ findings }) => findings)).toEqual([1, 1]);
    const { spent, reserved } = await ledger(runId);
    expect(spent).toBeLessThanOrEqual(30);
    expect(spent).toBeGreaterThan(20);
    expect(reserved).toBe(0);
  });

  it('[Q-13] one call that is refused for its price is an error result; the worker goes on', async () => {
    const runId = await play(story(['alpha'], {
      worker: (call) => (call.step === 0 ? { calls: Array.from({ length: 12 }, (_, index) => read(index === 0 ? 'alpha' : `page-${index}`)) } : { text: 'done' }),
    }), { budgetCredits: 20 });
    const [worker] = await world.workers(runId);
    const codes = (await world.calls(worker!['id'] as RunId)).map((call) => call['error_code'] as string | null);
    expect(codes[0]).toBeNull();
    expect(codes.at(-1)).toBe('BUDGET_EXHAUSTED');
    expect((await ledger(runId)).reserved).toBe(0);
    expect(callsOf('worker')[1]?.results.filter(({ isError }) => isError).length ?? 0).toBe(callsOf('worker').length > 1 ? codes.filter((code) => code === 'BUDGET_EXHAUSTED').length : 0);
  });
});

describe('sources', () => {
  it('[Q-17] reads beyond the cap are error results; the run is still answered and says that it met the cap', async () => {
    const runId = await play(story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [read('alpha'), read('two'), read('three'), read('four')] } : { text: 'done' }) }), { sourceCap: 2 });
    expect(await world.run(runId)).toMatchObject({ status: 'completed', stop_reason: 'answered', limits_hit: 'source_cap' });
    expect((await world.run(runId))['report']).toContain('Limits met: number of sources');
    const [worker] = await world.workers(runId);
    expect((await world.calls(worker!['id'] as RunId)).map((call) => call['error_code'] as string | null)).toEqual([null, null, 'SOURCE_CAP_REACHED', 'SOURCE_CAP_REACHED']);
    expect(played.web.reads).toHaveLength(2);
  });

  it('[Q-13] reading a page again costs nothing and shows the stored copy', async () => {
    const runId = await play(story(['alpha'], { worker: (call) => (call.step < 2 ? { calls: [read('alpha')] } : { text: 'done' }) }));
    expect(played.web.reads).toHaveLength(1);
    expect(await world.one('SELECT COUNT(*) FROM reservations WHERE root_run_id = ? AND operation = ?', [runId, 'read'])).toBe('1');
    const results = callsOf('worker').at(-1)!.results;
    expect(results[1]!.content).toBe(results[0]!.content);
  });
});

/** Has one worker, which keeps a finding, then thinks past its deadline. */
const hanging: InProcessScript = (call) => {
  if (isFinishing(call)) return { text: 'Too late.' };
  if (call.role === 'worker') return call.step === 0 ? { calls: [note('A finding.')] } : { text: 'done' };
  return call.step === 0 ? { calls: [delegate('task alpha')] } : { text: 'thinking', hangs: true };
};

describe('a stopped run that has found nothing', () => {
  it.each([
    ['deadline_reached', { deadlineSeconds: 1 }, { text: 'From memory: it is 42.', hangs: true }],
    ['turns_exhausted', { supervisorTurns: 2 }, { calls: [plan('once more')] }],
  ] as const)('[Q-23] asks no model for a report, which could only be written from memory: %s', async (stopReason, shape, answer) => {
    const runId = await play(() => answer as ModelAnswer, shape);
    expect(played.model.calls.filter(isFinishing)).toEqual([]);
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'incomplete', stop_reason: stopReason });
    expect(run['report']).toMatch(/^> \*\*Incomplete report\.\*\* The run stopped because [^\n]+\n[^]*No findings were recorded before the run stopped\.$/);
    expect(await ledger(runId)).toMatchObject({ reserved: 0 });
    expect(await world.rows(`SELECT 1 FROM reservations WHERE run_id = ? AND operation = 'finish' AND charge_microcredits > 0`, [runId])).toEqual([]);
  });
});

describe('time', () => {
  it('[Q-09] a deadline in the middle of a model call ends the run with a flagged report', async () => {
    const runId = await play(hanging, { deadlineSeconds: 1 });
    expect(await world.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'deadline_reached' });
    expect((await world.run(runId))['report']).toMatch(/its time was over[^]*Too late/);
    expect(await world.attempts(runId)).toMatchObject([{ outcome: 'completed' }, { outcome: 'failed', error_code: 'MODEL_TIMEOUT' }, { outcome: 'completed' }]);
  });

  it('[Q-09] a timer that fires just before the clock says so changes nothing about that', async () => {
    const startMs = Date.now();
    const slowClock = (): number => startMs + Math.floor((Date.now() - startMs) * 0.98);
    const runId = await play(hanging, { deadlineSeconds: 1 }, { nowMs: slowClock });
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'deadline_reached' });
    expect(callsOf('supervisor')).toHaveLength(3);
  });

  it('[Q-09] a deadline in the middle of a tool call stops the worker, and the root run with what it has', async () => {
    played = world.dependencies(story(['alpha', 'beta'], {
      supervisor: (call) => (call.step === 0 && call.tools.length > 0 ? { calls: [delegate('task alpha'), delegate('task beta')] } : { text: `Partly: ${link('alpha')}.` }),
    }));
    played.web.before = (what, signal) => (what === 'beta' ? aborted(signal) : undefined);
    const { runId } = await world.newRun({ deadlineSeconds: 1 });
    const startedMs = performance.now();
    expect(await world.drive(played, runId)).toEqual([]);
    expect(performance.now() - startedMs).toBeLessThan(2_500);
    expect(await world.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'deadline_reached' });
    expect((await world.run(runId))['report']).toContain('Partly:');
    expect((await resultsOf(runId)).map(({ kind, code }) => code ?? kind)).toEqual(['delegation', 'DEADLINE_REACHED']);
  });

  it('does not wait for a try that would come after the deadline', async () => {
    const runId = await play(() => ({ error: new QuaestorError('MODEL_RATE_LIMITED', 'later', { retryAfterMs: 60_000, details: { accepted: false } }) }), { deadlineSeconds: 30 });
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'provider_failed', last_error_code: 'MODEL_RATE_LIMITED' });
  });
});

it('[Q-11] leaves whole groups out of a prompt that grew too long, never the question', async () => {
  const runId = await play(story(['alpha'], { worker: (call) => (call.step < 6 ? { calls: [search(`look ${call.step} ${'word '.repeat(60)}`)] } : diligentWorker({ ...call, step: 9 })) }), {}, { prompts: promptPolicy({ tokensMax: 1_100, rawPageChars: 64_000 }) });
  expect(await world.run(runId)).toMatchObject({ status: expect.stringMatching(/completed|incomplete/) as string });
  const prompts = callsOf('worker').map(({ request }) => request.messages);
  expect(prompts.at(-1)!.filter(({ role }) => role === 'tool').length).toBeLessThan(6);
  for (const messages of prompts) expect(messages[1]!.content).toContain('task alpha');
});

it('[Q-12] says that credits were refused to its workers, and ends for that reason when nothing was found', async () => {
  const runId = await play(story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [read('alpha')] } : { text: 'No answer.' }), supervisor: (call) => (call.step === 0 ? { calls: [delegate('task alpha')] } : { text: 'Nothing was found.' }) }), { budgetCredits: 1 }, { price: { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 } });
  expect(await world.run(runId)).toMatchObject({ stop_reason: 'budget_exhausted', limits_hit: 'credits' });
  expect((await world.run(runId))['report']).toContain('credits');
});
