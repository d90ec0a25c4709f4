import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type RunId } from '#contracts';
import type { RunTreeRecord } from '#domain';
import { AgentWorld, type AgentRunShape, type InProcessScript } from '#testing';
import { delegate, isFinishing, link, note, plan, read, readNotes, search, story, taskWord } from '../spec-support/scripts.ts';
import type { ReplayDifference } from './difference.ts';
import type { ReplayReport } from './replay-tree.ts';

let world: AgentWorld;
let recorded: RunId | undefined;
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterAll(() => world.close());

async function play(script: InProcessScript, shape: AgentRunShape = {}): Promise<RunId> {
  const { runId } = await world.newRun(shape);
  const failures = await world.drive(world.dependencies(script), runId);
  expect(failures).toEqual([]);
  return runId;
}


async function expectSame(runId: RunId): Promise<ReplayReport> {
  const report = await world.replay(await world.record(runId));
  expect(report.difference).toBeNull();
  expect(report.runs.every(({ promptsUnchecked }) => promptsUnchecked === 0)).toBe(true);
  return report;
}

const rich: InProcessScript = story(['alpha', 'beta'], {
  supervisor: (call) => [{ calls: [plan('the plan')] }, { calls: [delegate('task alpha'), delegate('task beta'), readNotes] }, { calls: [readNotes] }][call.step] ?? { text: `A right with an end ${link('alpha')}.` },
  worker: (call) =>
    [
      { calls: [search('x'), read(taskWord(call)), read('https://nowhere.invalid/')] },
      { calls: [note(`Found in ${taskWord(call)}`), search('y'), { name: 'search_web_page', arguments: { url: 'nope', query: 'lease' } }, { name: 'invented', arguments: {} }] },
    ][call.step] ?? { text: 'Task done.' },
});

describe('replay of a recorded run', () => {
  it('goes through every prompt, call and result of a whole tree, without a model', async () => {
    const runId = await play(rich);
    const report = await expectSame(runId);
    expect(report.runs.map(({ worker, stopReason }) => [worker, stopReason])).toEqual([[null, 'answered'], [1, 'answered'], [2, 'answered']]);
    expect(report.runs.reduce((sum, { promptsChecked }) => sum + promptsChecked, 0)).toBe((await world.rows('SELECT 1 FROM attempts WHERE root_run_id = ?', [runId])).length);
  });

  it('goes the way of a run that failed, with its retries', async () => {
    const failed = await play(() => ({ text: 'half', error: new QuaestorError('MODEL_OVERLOADED', 'busy') }));
    expect((await world.run(failed))['stop_reason']).toBe('provider_failed');
    await expectSame(failed);
    await expectSame(await play(() => ({ text: 'TAINT', finish: 'content-filter' })));
    await expectSame(await play(() => ({ text: '  ' })));
    await expectSame(await play(story(['alpha'], { worker: () => ({ text: 'x', error: new QuaestorError('MODEL_REQUEST_REFUSED', 'refused') }) })));
  });

  it('goes the way of a run that met a limit', async () => {
    for (const [script, shape] of [
      [story(['alpha'], { worker: () => ({ calls: [search('again')] }) }), { workerTurns: 3 }],
      [() => ({ calls: [plan('again')] }), { supervisorTurns: 3 }],
      [story(['alpha', 'beta']), { budgetCredits: 12 }],
      [story(['alpha', 'beta']), { budgetCredits: 1 }],
      [story(['alpha', 'beta']), { sourceCap: 1 }],
      [(call) => (isFinishing(call) ? { text: 'What there is.' } : { calls: [plan('again')] }), { supervisorTurns: 2 }],
      [() => ({ text: 'on and on ', finish: 'max-tokens' }), {}],
    ] as [InProcessScript, AgentRunShape][]) {
      await expectSame(await play(script, shape));
    }
  });

  it('stops at the first difference and names it', async () => {
    const runId = await play(rich);
    const tree = await world.record(runId);
    const worker = tree.runs[1]!;
    const call = worker.loaded.calls.find(({ name }) => name === 'read_web_page')!;
    call.result = { ...call.result!, pages: 7 } as typeof call.result;
    const { difference } = await world.replay(tree);
    expect(difference).toMatchObject({ runId: worker.loaded.run.id, worker: 1, turn: 1, toolCallId: call.toolCallId, what: 'result' });
    expect(difference!.recorded).toContain('"pages":7');
    expect(difference!.replayed).toContain('"pages":1');
  });

  it.each<[string, (tree: RunTreeRecord) => void, Partial<ReplayDifference>]>([
    ['an answer', ({ runs }) => (runs[0]!.loaded.messages.find(({ role }) => role === 'assistant')!.content = 'other'), { worker: null, turn: 1, attempt: 1, what: 'answer' }],
    ['a question', ({ runs }) => (runs[0]!.loaded.messages[0]!.content = 'other?'), { worker: null, turn: 1, attempt: 1, what: 'prompt (SHA-256)' }],
    ['a note that was read', ({ runs }) => (runs[0]!.loaded.calls.find(({ name }) => name === 'read_scratchpad')!.result = { kind: 'text', text: 'other' }), { worker: null, turn: 3, what: 'prompt (SHA-256)' }],
    ['the words of a page', ({ sources }) => (sources[0]!.text += ' more'), { turn: 2, what: 'prompt (SHA-256)' }],
    ['arguments', ({ runs }) => (runs[2]!.loaded.calls[0]!.arguments = '{"query":"z"}'), { worker: 2, turn: 1, attempt: 1, what: 'calls' }],
    ['the report', ({ runs }) => (runs[0]!.report += '!'), { worker: null, what: 'report' }],
    ['how the run ended', ({ runs }) => (runs[0]!.stopReason = 'insufficient_evidence'), { worker: null, what: 'stop reason' }],
    ['a call that is gone', ({ runs }) => void runs[1]!.loaded.calls.pop(), { worker: 1, turn: 2, what: 'calls' }],
    ['an attempt too many', ({ runs }) => void runs[1]!.attempts.push({ ...runs[1]!.attempts.at(-1)!, turn: 9 }), { worker: 1, what: 'left-over attempts' }],
    ['an attempt too few', ({ runs }) => void runs[1]!.attempts.pop(), { worker: 1, what: 'next step' }],
    ['what a worker gave back', ({ runs }) => (runs[0]!.loaded.calls.find(({ name }) => name === 'delegate_research_task')!.result = { kind: 'error', code: 'X', message: 'y' }), { what: 'prompt (SHA-256)' }],
  ])('finds that somebody changed %s', async (_what, change, expected) => {
    recorded ??= await play(rich);
    const tree = await world.record(recorded);
    change(tree);
    expect((await world.replay(tree)).difference).toMatchObject(expected);
  });
});
