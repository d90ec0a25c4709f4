import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countCalls, pageUrl, taskNumber, waitUntil, type ModelScript } from '#testing';
import { WholeStack } from './spec-support/whole-stack.ts';

/** At one word in 250 ms the first answer of task 0 takes far longer than a lease and its takeover. */
const SLOW_WORDS = Array.from({ length: 400 }, (_, index) => `word${index}`).join(' ');
const SLOW_CHUNK_MS = 250;

let web: Server;
let scenario: WholeStack;
/** The first reading of the slow page, which is never answered, and whether its reader has gone. */
let held: ServerResponse | null = null;
let isHeldGone = false;
let slowReads = 0;

/** Task 0 sits in a model stream, task 1 in a page fetch; whoever asks a second time gets an answer at once. */
const script: ModelScript = {
  name: 'zombie',
  description: 'two workers, one in a slow stream and one in a slow fetch, the first time',
  answer(request) {
    if (request.role !== 'worker') {
      if (countCalls(request, 'delegate_research_task') > 0) return { text: `A lease ends [source](${pageUrl(request, 0, 1)}).` };
      return { calls: [0, 1].map((task) => ({ name: 'delegate_research_task', arguments: { task: `[task ${task}] ${request.carried}` } })) };
    }
    if (request.calls.length > 0) return { text: `Task ${taskNumber(request)} is done.` };
    if (taskNumber(request) === 1) return { calls: [{ name: 'read_web_page', arguments: { url: `${origin()}/slow?run=${request.runId}` } }] };
    if (request.timesAsked === 0 && request.parameters.get('slow') === '1') return { text: SLOW_WORDS, chunkDelayMs: SLOW_CHUNK_MS };
    return { calls: [{ name: 'read_web_page', arguments: { url: pageUrl(request, 0, 1) } }] };
  },
};

const origin = (): string => `http://127.0.0.1:${(web.address() as AddressInfo).port}`;

beforeAll(async () => {
  web = createServer((_request, response) => {
    if (slowReads++ > 0) return void response.writeHead(200, { 'content-type': 'text/plain' }).end('A slow page says that leases end.');
    held = response;
    response.on('close', () => (isHeldGone = true));
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  scenario = await WholeStack.open({ scripts: [script], hosts: [new URL(origin()).host] });
}, 90_000);
afterAll(async () => {
  expect(await scenario.problems()).toEqual([]);
  await scenario.close();
  web.closeAllConnections();
  web.close();
}, 60_000);

it('[Q-03] [Q-02] [P06] a worker that was stopped past its lease changes no row when it goes on, and ends what it was doing', async () => {
  const played = await scenario.ask('zombie(slow=1)', 'zombie');
  await scenario.until('the stream and the fetch', () => (scenario.record('zombie')?.roles['worker']?.requests ?? 0) >= 2 && held !== null);
  const [zombie] = scenario.stack.pids().worker;
  process.kill(zombie!, 'SIGSTOP');
  const other = await scenario.startMore(['worker']);
  try {
    expect((await played.events).at(-1)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
    const settled = await settledDatabase();
    expect([isHeldGone, scenario.record('zombie')!.aborted]).toEqual([false, 0]);
    const requests = await startsOf('zombie');

    process.kill(zombie!, 'SIGCONT');
    await scenario.until('the end of its fetch and its stream', () => isHeldGone && scenario.record('zombie')!.aborted === 1);
    await scenario.until('the end of its jobs', async () => (await jobs('active')) === 0);
    await expectUnchanged(settled);
    expect(await startsOf('zombie')).toEqual(requests);
    expect(await jobs('failed')).toBe(0);
    expect(slowReads).toBe(2);
  } finally {
    await other.stop();
  }

  // one lost attempt, booked once; the page was paid once although it was asked for twice
  const rows = await scenario.sql.rows(`SELECT operation, state, COUNT(*) AS number FROM reservations WHERE root_run_id = ? AND operation <> 'finish' GROUP BY operation, state ORDER BY operation, state`, [played.id]);
  expect(rows).toEqual([{ operation: 'model', state: 'settled', number: '6' }, { operation: 'model', state: 'unknown', number: '1' }, { operation: 'read', state: 'settled', number: '2' }]);
  expect(await scenario.sql.rows(`SELECT outcome, COUNT(*) AS number FROM attempts WHERE root_run_id = ? GROUP BY outcome ORDER BY outcome`, [played.id])).toEqual([{ outcome: 'completed', number: '6' }, { outcome: 'lost', number: '1' }]);

  // the same process goes on to serve
  expect(scenario.stack.pids().worker).toEqual([zombie]);
  const next = await scenario.ask('zombie(slow=0)', 'after');
  expect((await next.events).at(-1)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
}, 120_000);

const startsOf = async (token: string): Promise<number[]> => (await scenario.requests(token)).map(({ startMs }) => startMs);

/** Delegations in a state of BullMQ, as the gateway counts them. */
async function jobs(state: 'active' | 'failed'): Promise<number> {
  const metrics = await (await fetch(`${scenario.stack.url}/metrics`)).text();
  return Number(new RegExp(`quaestor_jobs\\{queue="delegations",state="${state}"\\} (\\d+)`).exec(metrics)?.[1] ?? -1);
}

/** Once marks of sent jobs and the like have been written. */
async function settledDatabase(): Promise<Record<string, string[]>> {
  let last = await scenario.wholeDatabase();
  await waitUntil(
    async () => {
      const now = await scenario.wholeDatabase();
      const isSame = JSON.stringify(now) === JSON.stringify(last);
      last = now;
      return isSame && now['outbox']?.length === 0;
    },
    { what: 'a database at rest', intervalMs: 1_000 },
  );
  return last;
}

/** Longer than a heartbeat, a sweep and the longest poll of a process that has just come back. */
async function expectUnchanged(settled: Record<string, string[]>): Promise<void> {
  const endMs = performance.now() + 3_000;
  await waitUntil(
    async () => {
      expect(await scenario.wholeDatabase()).toEqual(settled);
      return performance.now() > endMs;
    },
    { what: 'an unchanged database', timeoutMs: 10_000, intervalMs: 200 },
  );
}
