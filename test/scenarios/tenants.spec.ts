import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '#client';
import { countCalls, pageUrl, taskNumber, type ModelScript, type ScriptRequest } from '#testing';
import { WholeStack, type Played } from './spec-support/whole-stack.ts';

const RUNS_PER_TENANT = 6;
const PACE = { chunkDelayMs: 15 };
let scenario: WholeStack;
let tenants: Record<'ours' | 'theirs', Client>;
/** Requests in which a run was shown anything of another one. */
const leaks: string[] = [];

/** Two workers that search, read and note, all under the mark of their run, and a supervisor that looks at the notes. */
const script: ModelScript = {
  name: 'marked',
  description: 'everything in a run carries its mark, and no other mark may come by',
  answer(request) {
    const foreign = marksIn(JSON.stringify([request.question, request.calls])).filter((mark) => mark !== request.runId);
    if (foreign.length > 0) leaks.push(`${request.runId} was shown ${foreign.join(' ')}`);
    return { ...(request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request)), ...PACE };
  },
};

const marksIn = (text: string): string[] => [...text.matchAll(/MARK-([a-z]+-\d+)/g)].map(([, mark]) => mark!);

function supervisorAnswer(request: ScriptRequest) {
  if (countCalls(request, 'delegate_research_task') === 0) {
    return { text: 'Two workers can look at this.', calls: [0, 1].map((task) => ({ name: 'delegate_research_task', arguments: { task: `[task ${task}] MARK-${request.runId} ${request.carried}` } })) };
  }
  if (countCalls(request, 'read_scratchpad') === 0) return { text: 'What is known?', calls: [{ name: 'read_scratchpad', arguments: {} }] };
  return { text: `MARK-${request.runId}: a lease ends [source](${pageUrl(request, 0, 1)}).` };
}

function workerAnswer(request: ScriptRequest) {
  const task = taskNumber(request);
  const steps = [
    { name: 'perform_web_search', arguments: { query: `slot ${task} MARK-${request.runId} run.${request.runId}` } },
    { name: 'read_web_page', arguments: { url: pageUrl(request, task, 1) } },
    { name: 'append_scratchpad', arguments: { note: `MARK-${request.runId} found by ${task} [source](${pageUrl(request, task, 1)})` } },
  ];
  const step = steps[request.calls.length];
  return step ? { text: 'One moment.', calls: [step] } : { text: `MARK-${request.runId}: task ${task} is done.` };
}

beforeAll(async () => {
  scenario = await WholeStack.open({ scripts: [script] });
  tenants = { ours: scenario.client, theirs: await scenario.otherTenant() };
}, 90_000);
afterAll(async () => {
  expect(await scenario.problems()).toEqual([]);
  await scenario.close();
}, 60_000);

it('[Q-26] [Q-21] two tenants on one worker process see, pay and end their own runs only, however interleaved', async () => {
  const names = ['ours', 'theirs'] as const;
  expect([scenario.stack.pids().worker.length, scenario.stack.pids().supervisor.length]).toEqual([1, 1]);
  const played = await Promise.all(
    Array.from({ length: RUNS_PER_TENANT * 2 }, (_, index) => {
      const tenant = names[index % 2]!;
      const token = `${tenant}-${index}`;
      return scenario.ask(`marked() MARK-${token}`, token, { client: tenants[tenant] }).then((run) => ({ ...run, tenant }));
    }),
  );
  // one of theirs is cancelled in the middle, which is nothing to any other
  const cancelled = played[1]!;
  await scenario.until('the middle', () => (scenario.record(cancelled.token)?.modelRequests ?? 0) >= 3);
  await tenants.theirs.cancelRun(cancelled.id);

  for (const run of played) await expectOwn(run);
  for (const name of names) {
    const listed = (await tenants[name].listRuns({ limit: 100 })).data.map(({ id }) => id as string);
    expect(listed.toSorted()).toEqual(played.filter(({ tenant }) => tenant === name).map(({ id }) => id as string).toSorted());
  }
  expect(leaks).toEqual([]);

  async function expectOwn({ tenant, ...run }: Played & { tenant: 'ours' | 'theirs' }): Promise<void> {
    const [own, other] = [tenants[tenant], tenants[tenant === 'ours' ? 'theirs' : 'ours']];
    const events = await run.events;
    expect(events.at(-1)).toMatchObject({ status: run.id === cancelled.id ? 'cancelled' : 'completed' });
    const view = await own.getRun(run.id);
    const seen = JSON.stringify([events, view, await own.scratchpad(run.id), await own.messages(run.id), await own.sources(run.id)]);
    expect([...new Set(marksIn(seen))]).toEqual([run.token]);
    await expect(other.getRun(run.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    // two searches and two pages, and what its own model calls cost
    if (run.id !== cancelled.id) {
      const [paid] = await scenario.sql.rows(`SELECT SUM(operation IN ('search', 'read')) AS calls, SUM(charge_microcredits) AS charge FROM reservations WHERE root_run_id = ?`, [run.id]);
      expect([paid!['calls'], Number(paid!['charge']) / 1_000_000]).toEqual(['4', view.budget.spent]);
    }
  }
}, 120_000);
