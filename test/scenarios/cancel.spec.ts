import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isTerminal } from '#contracts';
import type { Client } from '#client';
import { countCalls, numberParameter, pageUrl, taskNumber, type ModelScript, type ScriptedAnswer, type ScriptRequest } from '#testing';
import { WholeStack, type Played } from './spec-support/whole-stack.ts';

const ENDLESS: ScriptedAnswer = { text: 'word '.repeat(2_000), chunkDelayMs: 100 };
let web: Server;
let scenario: WholeStack;
let stranger: Client;
/** Pages that were asked for and are never answered. */
let openPages = 0;
let finishing = 0;

/** `at` names where the run is held: before the first byte, in a stream, in the workers, in a page, in the finishing call, or nowhere. */
const script: ModelScript = {
  name: 'held',
  description: 'a run that stays where it is told to: held(at=stream)',
  answer: (request) => (request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request)),
};

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  const at = request.parameters.get('at');
  if (at === 'headers') return { text: 'late', firstChunkDelayMs: 60_000 };
  if (at === 'stream') return ENDLESS;
  if (at === 'finish' && request.offeredTools.size === 0) {
    finishing++;
    return ENDLESS;
  }
  // without a finding no report would be asked for
  if (at === 'finish' && countCalls(request, 'delegate_research_task') > 0) return { calls: [{ name: 'update_scratchpad', arguments: { content: 'a plan' } }] };
  if (countCalls(request, 'delegate_research_task') > 0) return { text: `A lease ends [source](${pageUrl(request, 0, 1)}).` };
  return { calls: [0, 1, 2].map((task) => ({ name: 'delegate_research_task', arguments: { task: `[task ${task}] ${request.carried}` } })) };
}

function workerAnswer(request: ScriptRequest): ScriptedAnswer {
  const at = request.parameters.get('at');
  const task = taskNumber(request);
  const step = request.calls.length;
  if (step === 0) return { calls: [{ name: 'append_scratchpad', arguments: { note: `Found for task ${task} [source](${pageUrl(request, task, 1)})` } }] };
  if (at === 'finish') return { text: 'Found.' };
  if (at === 'workers') return ENDLESS;
  const url = at === 'page' ? `http://127.0.0.1:${(web.address() as AddressInfo).port}/held?run=${request.runId}` : pageUrl(request, task, 1);
  return step < 2 + numberParameter(request, 'k', 0) ? { calls: [{ name: 'read_web_page', arguments: { url } }] } : { text: `Task ${task} is done.` };
}

beforeAll(async () => {
  web = createServer((_request, response) => {
    openPages++;
    response.on('close', () => openPages--);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  scenario = await WholeStack.open({ scripts: [script], hosts: [`127.0.0.1:${(web.address() as AddressInfo).port}`] });
  stranger = await scenario.otherTenant();
}, 90_000);
afterEach(async () => expect(await scenario.problems()).toEqual([]));
afterAll(async () => {
  await scenario.close();
  web.closeAllConnections();
  web.close();
}, 60_000);

const requests = (played: Played, role: string): number => scenario.record(played.token)?.roles[role]?.requests ?? 0;
const ended = async ({ id }: Played): Promise<boolean> => (await scenario.runs(id)).every(({ ended_at: endedAt }) => endedAt !== null);

/** One end, everywhere and once; nothing open, nothing reserved, and nothing that is still being asked for. */
async function expectCancelled(played: Played, endings = ['cancelled cancelled']): Promise<void> {
  await scenario.until('the end of the tree', () => ended(played));
  const { id } = played;
  const runs = (await scenario.runs(id)).map(({ status, stop_reason: reason }) => `${status} ${reason}`);
  expect([runs[0], ...runs.filter((ending) => !endings.includes(ending))]).toEqual(['cancelled cancelled']);
  expect(await scenario.sql.rows(`SELECT id FROM tool_calls WHERE root_run_id = ? AND (status = 'open' OR result IS NULL)`, [id])).toEqual([]);
  expect(await scenario.sql.rows(`SELECT id FROM reservations WHERE root_run_id = ? AND state = 'open'`, [id])).toEqual([]);
  const ends = (await played.events).filter((event) => event.type === 'run_status' && isTerminal(event.status));
  expect(ends).toMatchObject([{ status: 'cancelled', stop_reason: 'cancelled' }]);
  const asked = (await scenario.requests(played.token)).length;
  await scenario.until('the end of every request', async () => openPages === 0 && (await scenario.requests(played.token)).every(({ endMs }) => endMs !== null));
  expect(await scenario.requests(played.token)).toHaveLength(asked);
}

describe('[Q-18] [Q-08] [C09] a cancel through the API', () => {
  const PLACES: [string, string, (played: Played) => boolean, number][] = [
    ['before the first byte of an answer', 'headers', (played) => requests(played, 'supervisor') === 1, 0],
    ['in the stream of the supervisor', 'stream', (played) => requests(played, 'supervisor') === 1, 0],
    ['while the supervisor waits for three workers in their streams', 'workers', (played) => requests(played, 'worker') === 6, 3],
    ['while three workers read pages that do not come', 'page', () => openPages === 3, 3],
  ];
  it.each(PLACES)('%s ends the tree once; findings stay', async (_where, at, isReached, findings) => {
    const played = await scenario.ask(`held(at=${at})`, at);
    await scenario.until('the place', () => isReached(played));
    const answers = await Promise.all(Array.from({ length: 4 }, () => scenario.client.cancelRun(played.id)));
    expect(answers.every(({ cancel_requested_at: at }) => at === answers[0]!.cancel_requested_at)).toBe(true);
    await expectCancelled(played);
    expect((await scenario.client.scratchpad(played.id)).entries).toHaveLength(findings);
    expect(await scenario.client.cancelRun(played.id)).toMatchObject({ status: 'cancelled' });
  });

  it('[Q-05] shows people what had come of the answer, and keeps it from the report and from every other row', async () => {
    const played = await scenario.ask('held(at=stream)', 'shown');
    for await (const event of scenario.client.events(played.id)) if (event.type === 'content') break;
    await scenario.client.cancelRun(played.id);
    await expectCancelled(played);
    const { data } = await scenario.client.messages(played.id);
    expect(data.slice(1)).toEqual([{ sequence_no: expect.any(String) as string, role: 'assistant', content: expect.stringMatching(/^word (word )*$/) as string, is_error: false, interrupted: true, created_at: expect.any(String) as string }]);
    await expect(stranger.messages(played.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await played.events).find(({ type }) => type === 'settlement')).toMatchObject({ outcome: 'interrupted' });
    expect((await scenario.client.getRun(played.id)).report ?? '').not.toContain('word ');
    expect(Object.entries(await scenario.wholeDatabase()).filter(([, rows]) => rows.some((row) => row.includes('word ')))).toEqual([]);
  });

  it('in the finishing call of a run that was stopped', async () => {
    const played = await scenario.ask('held(at=finish)', 'finish', { budget_credits: 12 });
    await scenario.until('the finishing call', () => finishing === 1);
    await scenario.client.cancelRun(played.id);
    await expectCancelled(played, ['cancelled cancelled', 'completed answered', 'incomplete budget_exhausted']);
    const [newest] = await scenario.sql.rows(`SELECT outcome FROM attempts WHERE run_id = ? ORDER BY turn DESC, attempt DESC LIMIT 1`, [played.id]);
    expect(['interrupted', 'cancelled']).toContain(newest!['outcome']);
  });

  it('while it is queued costs nothing, and nothing is asked when a supervisor comes to it', async () => {
    const [supervisor] = scenario.stack.pids().supervisor;
    process.kill(supervisor!, 'SIGSTOP');
    const played = await scenario.ask('held(at=stream)', 'queued');
    const view = await scenario.client.cancelRun(played.id);
    process.kill(supervisor!, 'SIGCONT');
    expect(view).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled' });
    await expectCancelled(played);
    expect(scenario.record('queued')).toBeUndefined();
  });

  it('while its workers are queued ends them too', async () => {
    const [worker] = scenario.stack.pids().worker;
    process.kill(worker!, 'SIGSTOP');
    const played = await scenario.ask('held(at=nowhere)', 'parked');
    await scenario.until('the wait', async () => (await scenario.runs(played.id))[0]!['status'] === 'waiting');
    const view = await scenario.client.cancelRun(played.id);
    process.kill(worker!, 'SIGCONT');
    expect(view).toMatchObject({ status: 'cancelled' });
    await expectCancelled(played);
    expect(requests(played, 'worker')).toBe(0);
  });

  it('[Q-26] of another tenant is a run that is not there, and changes nothing', async () => {
    const played = await scenario.ask('held(at=nowhere)', 'foreign');
    await expect(stranger.cancelRun(played.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await played.events).at(-1)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
    const before = await scenario.client.getRun(played.id);
    expect(await scenario.client.cancelRun(played.id)).toEqual(before);
    expect(before.cancel_requested_at).toBeNull();
  });

  it('that races with the end leaves one end, the earlier one', async () => {
    const races = await Promise.all(
      Array.from({ length: 24 }, async (_, race) => {
        const played = await scenario.ask('held(at=nowhere,k=1)', `race-${race}`);
        // each at another step of the run, from its acceptance to beyond its end
        await scenario.until('its step', async () => (await ended(played)) || (scenario.record(played.token)?.modelRequests ?? 0) >= race % 13);
        await scenario.client.cancelRun(played.id);
        return played;
      }),
    );
    const outcomes = new Set<string>();
    for (const played of races) {
      await scenario.until('its end', () => ended(played));
      const run = await scenario.client.getRun(played.id);
      outcomes.add(run.status);
      expect([run.status, run.stop_reason, run.cancel_requested_at === null]).toEqual(run.status === 'completed' ? ['completed', 'answered', run.cancel_requested_at === null] : ['cancelled', 'cancelled', false]);
      const ends = (await played.events).filter((event) => event.type === 'run_status' && isTerminal(event.status));
      expect(ends).toMatchObject([{ status: run.status }]);
      // a worker may have been done before
      if (run.status === 'cancelled') await expectCancelled(played, ['cancelled cancelled', 'completed answered']);
    }
    expect(outcomes).toContain('cancelled');
  }, 90_000);
});
