import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ATTEMPTS_PER_TURN_MAX, type RunId } from '#contracts';
import { countCalls, pageUrl, taskNumber, type ModelScript, type ScriptedAnswer, type ScriptRequest } from '#testing';
import { PromptTap, type SentMessage } from './spec-support/prompt-tap.ts';
import { WholeStack, type Played } from './spec-support/whole-stack.ts';

/** Stands in every text that was cut off: it may be seen live and in the record of its attempt, and nowhere else. */
const TAINT = 'TAINTED';
let scenario: WholeStack;
let tap: PromptTap;
let web: Server;
let slowReads = 0;

/** `broken` names whose model breaks down in mid-answer, in its second turn and from then on: `worker` (that of task 1) or `supervisor`. */
const script: ModelScript = {
  name: 'breaking',
  description: 'a model that breaks down: breaking(broken=worker)',
  answer: (request) => (request.role === 'worker' ? workerAnswer(request) : supervisorAnswer(request)),
};

const breakDown = (): ScriptedAnswer => ({ text: `The answer is ${TAINT} and almost certainly right.`, fault: { kind: 'error-chunk', afterChunks: 5, message: 'the scripted model broke down' } });

function supervisorAnswer(request: ScriptRequest): ScriptedAnswer {
  if (countCalls(request, 'delegate_research_task') === 0) {
    return { text: 'Two tasks.', calls: [0, 1].map((task) => ({ name: 'delegate_research_task', arguments: { task: `[task ${task}] ${request.carried}` } })) };
  }
  if (request.parameters.get('broken') === 'supervisor') return breakDown();
  return { text: `A lease ends [source](${pageUrl(request, 0, 1)}). The second task failed.` };
}

function workerAnswer(request: ScriptRequest): ScriptedAnswer {
  const task = taskNumber(request);
  const isSlow = request.parameters.get('broken') === 'process' && task === 1;
  const url = isSlow ? `http://127.0.0.1:${(web.address() as AddressInfo).port}/slow?run=${request.runId}` : pageUrl(request, task, 1);
  if (request.calls.length === 0) return { calls: [{ name: 'read_web_page', arguments: { url } }, { name: 'append_scratchpad', arguments: { note: `Found for ${task} [source](${pageUrl(request, task, 1)})` } }] };
  return request.parameters.get('broken') === 'worker' && task === 1 ? breakDown() : { text: `Task ${task} is done.` };
}

beforeAll(async () => {
  web = createServer((_request, response) => {
    if (slowReads++ > 0) response.writeHead(200, { 'content-type': 'text/plain' }).end('A slow page says that leases end.');
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  tap = await PromptTap.open(() => scenario.model.url);
  scenario = await WholeStack.open({ scripts: [script], env: { MODEL_BASE_URL: `${tap.url}/v1` }, hosts: [`127.0.0.1:${(web.address() as AddressInfo).port}`] });
}, 90_000);
afterAll(async () => {
  expect(await scenario.problems()).toEqual([]);
  expect(tap.prompts.flatMap(brokenGroups)).toEqual([]);
  expect(tap.prompts.filter((prompt) => JSON.stringify(prompt).includes(TAINT))).toEqual([]);
  await scenario.close();
  tap.close();
  web.closeAllConnections();
  web.close();
}, 60_000);

/** Calls of a prompt that are not answered right behind the message that made them, in their order. */
function brokenGroups(messages: SentMessage[]): string[] {
  return messages.flatMap(({ tool_calls: calls = [] }, at) => calls.filter(({ id }, index) => messages[at + 1 + index]?.tool_call_id !== id).map(({ id, function: { name } }) => `${name} ${id}`));
}

const attemptsOf = (runId: RunId) => scenario.sql.rows('SELECT turn, kind, outcome, error_code, stream IS NOT NULL AS recorded FROM attempts WHERE run_id = ? ORDER BY turn, attempt', [runId]);

/** The taint is in the record of attempts and in no other row. */
async function expectNotPromoted(): Promise<void> {
  const contents = await scenario.wholeDatabase();
  const tainted = Object.entries(contents).filter(([, rows]) => rows.some((row) => row.includes(TAINT))).map(([table]) => table);
  expect(tainted).toEqual([]);
}

it('[Q-05] [Q-06] [Q-01] a worker whose provider breaks down fails after bounded retries; its delegation is an error and the supervisor goes on', async () => {
  const played: Played = await scenario.ask('breaking(broken=worker)', 'worker');
  const events = await played.events;
  expect(events.at(-1)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
  const [root, good, bad] = await scenario.runs(played.id);
  expect(good).toMatchObject({ status: 'completed' });
  expect(bad).toMatchObject({ status: 'failed', stop_reason: 'provider_failed', report: null, last_error_code: expect.stringMatching(/^MODEL_/) as string });
  expect(bad!['failed_at']).not.toBeNull();

  const failed = (await attemptsOf(bad!['id'] as RunId)).filter(({ turn }) => turn === 2);
  expect(failed).toHaveLength(ATTEMPTS_PER_TURN_MAX);
  expect(new Set(failed.map(({ kind, outcome, recorded }) => `${kind} ${outcome} ${recorded}`))).toEqual(new Set(['attempt failed 1']));
  expect((await scenario.requests('worker')).filter(({ worker, turn }) => worker === 2 && turn === 2)).toHaveLength(ATTEMPTS_PER_TURN_MAX);

  const calls = await scenario.sql.rows(`SELECT c.status, c.error_code, c.result, m.is_error FROM tool_calls c JOIN messages m ON m.tool_call_id = c.id WHERE c.run_id = ? ORDER BY c.call_index`, [played.id]);
  expect(calls).toMatchObject([{ status: 'succeeded', is_error: 0 }, { status: 'failed', error_code: 'DELEGATION_FAILED', is_error: 1 }]);
  expect(JSON.parse(calls[1]!['result'] as string)).toMatchObject({ kind: 'error', findings: 1 });
  const reporting = tap.prompts.find((prompt) => JSON.stringify(prompt).includes('DELEGATION_FAILED'));
  expect(reporting?.at(-1)?.content).toContain('ERROR DELEGATION_FAILED');
  expect(root!['report']).toContain("A worker's task failed");
  expect((await scenario.client.scratchpad(played.id)).entries).toHaveLength(2);
  expect(JSON.stringify(events)).not.toContain(TAINT);
  await expectNotPromoted();
}, 60_000);

it('[Q-05] [Q-08] a supervisor whose provider breaks down fails its run once, with the reason and what was found, and without its last words', async () => {
  const played = await scenario.ask('breaking(broken=supervisor)', 'supervisor');
  const events = await played.events;
  expect(events.at(-1)).toMatchObject({ status: 'failed', stop_reason: 'provider_failed' });
  expect(events.filter(({ type }) => type === 'error')).toHaveLength(1);
  const run = await scenario.client.getRun(played.id);
  expect(run).toMatchObject({ status: 'failed', last_error: { code: expect.stringMatching(/^MODEL_/) as string }, report: expect.stringContaining('Found for 0') as string });
  expect((await attemptsOf(played.id)).map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual(['message completed', ...Array.from({ length: ATTEMPTS_PER_TURN_MAX }, () => 'attempt failed')]);
  expect((await scenario.runs(played.id)).slice(1).map(({ status }) => status)).toEqual(['completed', 'completed']);
  await expectNotPromoted();
}, 60_000);

it('[Q-01] [Q-11] [Q-04] a call that was open when its process died has its result before any model is asked again', async () => {
  const played = await scenario.ask('breaking(broken=process)', 'process');
  await scenario.until('the call, and the end of all others', async () => slowReads === 1 && (await scenario.sql.rows(`SELECT id FROM tool_calls WHERE root_run_id = ? AND status = 'open' AND effect <> 'delegate'`, [played.id])).length === 1);
  process.kill(scenario.stack.pids().worker[0]!, 'SIGKILL');
  expect((await played.events).at(-1)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
  expect(slowReads).toBe(2);
  expect(await scenario.sql.rows(`SELECT name, status, deaths FROM tool_calls WHERE root_run_id = ? AND deaths > 0`, [played.id])).toEqual([{ name: 'read_web_page', status: 'succeeded', deaths: 1 }]);
  // the note beside it was settled before, and is neither written nor asked for again
  expect((await scenario.client.scratchpad(played.id)).entries).toHaveLength(2);
  expect((await scenario.requests('process')).filter(({ worker, turn }) => worker === 2 && turn === 1)).toHaveLength(1);
}, 60_000);
