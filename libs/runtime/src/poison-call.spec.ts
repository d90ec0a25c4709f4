import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { environment } from '#platform';
import { AgentWorld, countCalls, pageUrl, startModelServer, waitUntil, type ModelScript, type ModelServer } from '#testing';

/** From the build, as services are. */
const PROCESS = fileURLToPath(new URL('../../../dist/libs/runtime/src/spec-support/advance-process.js', import.meta.url));
/** Small enough to be filled quickly, large enough for everything else. */
const HEAP_MEGABYTES = 160;

let world: AgentWorld;
let model: ModelServer;
const started: ChildProcess[] = [];

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
  world = await AgentWorld.open();
  model = await startModelServer({ scripts: [script], defaultScript: script });
});
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  expect(await world.brokenPromises()).toEqual([]);
  await model.close();
  await world.close();
});

/** Starts a process that advances the run; resolves when it has ended, with its exit code, or null for a death. */
async function advance(runId: RunId): Promise<number | null> {
  const { url, redisUrl } = world.database;
  const { PATH, HOME } = environment();
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MEGABYTES}`, PROCESS, runId], {
    env: {
      PATH, HOME, DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'silent', LEASE_TTL_MS: '500', HEARTBEAT_INTERVAL_MS: '100',
      MODEL_BASE_URL: `${model.url}/v1`, MODEL_NAME: 'scripted', SEARCH_PROVIDER: 'searxng', SEARXNG_URL: model.url, WEB_ALLOW_PRIVATE_HOSTS: new URL(model.url).host,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream!.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  if (!output.startsWith('ready')) throw new Error(`the process did not start: ${output}`);
  return output.includes('done') ? code : null;
}

const lapsed = (runId: RunId): Promise<unknown> =>
  waitUntil(
    () => world.one<string>(`SELECT id FROM runs r WHERE id = ? AND lease_expires_at < NOW(3) AND NOT EXISTS (SELECT 1 FROM lease_owners o WHERE o.owner = r.lease_owner AND o.expires_at >= NOW(3))`, [runId]),
    { what: 'the end of the lease' },
  );

it.each([['[P11] kills its process', 'kill'], ['[P09] fills the heap of its process', 'memory']])('[Q-16] a call that %s ends with an error after its third death, and its run goes on', async (_what, what) => {
  const { runId } = await world.newRun({ question: `What is a lease? poison(what=${what}) run.${what}` });
  expect(await advance(runId)).toBe(0);
  const workerId = (await world.workers(runId))[0]!['id'] as RunId;
  for (const deaths of [1, 2]) {
    expect(await advance(workerId)).toBeNull();
    await lapsed(workerId);
    expect((await world.calls(workerId)).every((call) => call['status'] === 'open' || call['status'] === 'succeeded')).toBe(true);
    expect(await world.one('SELECT MAX(deaths) FROM tool_calls WHERE run_id = ?', [workerId])).toBe(deaths - 1);
  }
  expect(await advance(workerId)).toBe(0);
  expect(await advance(runId)).toBe(0);

  const [search, deadly, good] = await world.calls(workerId);
  expect(deadly).toMatchObject({ status: 'failed', error_code: 'TOOL_KILLED_PROCESS', deaths: 3, result: expect.stringContaining('3 times') as string });
  expect([search, good]).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
  expect(await world.calls(runId)).toMatchObject([{ name: 'delegate_research_task', status: 'succeeded', deaths: 0 }]);
  expect(JSON.parse((await world.calls(runId))[0]!['result'] as string)).toMatchObject({ text: 'Done: 1 of my calls failed.' });
  expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  expect(await world.attempts(workerId)).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }]);
  expect(await world.rows(`SELECT operation, COUNT(*) AS paid FROM reservations WHERE run_id = ? AND operation IN ('search', 'read') GROUP BY operation ORDER BY operation`, [workerId])).toEqual([{ operation: 'read', paid: '2' }, { operation: 'search', paid: '1' }]);
  const record = model.records.list().find(({ id }) => id === what);
  expect(record).toMatchObject({ modelRequests: 4, firstProblem: null });
}, 60_000);
