import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type RunId } from '#contracts';
import { sameModelForAll } from '#domain';
import { createModels, modelConfig } from '#models';
import { AgentWorld, pageAddress } from '../agent-world/index.ts';
import type { ModelScript, ScriptedAnswer, ScriptRequest } from './script.ts';
import { startModelServer, type ModelServer } from './server.ts';

/** Names the model calls of one good run, in their order. */
const POSITIONS = ['supervisor 0', 'worker 0', 'worker 1', 'worker 2', 'worker 3', 'supervisor 1'] as const;
type Position = (typeof POSITIONS)[number];

const URL = pageAddress('alpha');
const CITED = `A lease is a right with an end [page](${URL}).`;
const GOOD: Record<Position, ScriptedAnswer> = {
  'supervisor 0': { text: 'I plan.', calls: [{ name: 'delegate_research_task', arguments: { task: 'task alpha' } }] },
  'worker 0': { text: 'I search.', calls: [{ name: 'perform_web_search', arguments: { query: 'alpha' } }] },
  'worker 1': { text: 'I read.', calls: [{ name: 'read_web_page', arguments: { url: URL } }] },
  'worker 2': { text: 'I note.', calls: [{ name: 'append_scratchpad', arguments: { note: `Found: a right with an end [page](${URL})` } }] },
  'worker 3': { text: 'Task alpha is done, as its notes say.' },
  'supervisor 1': { text: CITED },
};

/** What a model does in the place of a good answer. TAINT stands in what must reach nobody. */
const MODEL_FAULTS: Record<string, (good: ScriptedAnswer) => ScriptedAnswer> = {
  error: () => ({ fault: { kind: 'status', status: 500 } }),
  limited: () => ({ fault: { kind: 'status', status: 429, retryAfterSeconds: 1 } }),
  'error in the stream': () => ({ text: 'TAINT and more of it', fault: { kind: 'error-chunk', afterChunks: 2, message: 'overloaded' } }),
  timeout: () => ({ text: 'TAINT and more of it', fault: { kind: 'stall', afterChunks: 2 } }),
  empty: () => ({ text: '' }),
  truncate: (good) => ({ ...good, text: 'TAINT and more of it', fault: { kind: 'cut', afterChunks: 2 } }),
  'truncate a call': (good) => ({ ...good, calls: good.calls ?? [{ name: 'read_scratchpad', arguments: {} }], fault: { kind: 'cut-arguments' } }),
  corrupt: () => ({ text: 'TAINT and more of it', fault: { kind: 'garbage', afterChunks: 2 } }),
  filter: () => ({ text: 'TAINT and more of it', finishReason: 'content_filter' }),
};
/** Calls that are whole and make no sense: they are answered, and the run goes on. */
const CALL_FAULTS: Record<string, ScriptedAnswer> = {
  schema: { calls: [{ name: 'read_scratchpad', arguments: '{"surplus": {"deep": [1]}}' }, { name: 'perform_web_search', arguments: { query: 7 } }, { name: 'append_scratchpad', arguments: '[1]' }] },
  'broken arguments': { calls: [{ name: 'read_web_page', arguments: '{"url": "https://pages.te' }] },
  'unknown tool': { calls: [{ name: 'launch_rocket', arguments: {} }] },
};

const WEB_FAULTS: Record<string, () => Promise<void>> = {
  error: () => Promise.reject(new QuaestorError('PAGE_FETCH_FAILED', 'The page is gone.')),
  crash: () => Promise.reject(new TypeError('TAINT of the inside')),
  timeout: () => new Promise(() => undefined),
};

let world: AgentWorld;
let server: ModelServer;
let faultAt: (position: Position, timesAsked: number) => ScriptedAnswer | null = () => null;
const asked = new Map<Position, number>();

const played: ModelScript = {
  name: 'played',
  description: 'one worker that searches, reads and notes, with the fault of the moment',
  answer: (request: ScriptRequest) => {
    const wanted = request.calls.filter(({ name, result }) => name in NEXT && !result.startsWith('ERROR TOOL_ARGUMENTS') && !result.startsWith('ERROR TOOL_NOT_DECLARED'));
    const position = `${request.role} ${Math.min(wanted.length, request.role === 'supervisor' ? 1 : 3)}` as Position;
    const times = asked.get(position) ?? 0;
    asked.set(position, times + 1);
    return faultAt(position, times) ?? GOOD[position];
  },
};
const NEXT = { delegate_research_task: 1, perform_web_search: 1, read_web_page: 1, append_scratchpad: 1 };

beforeAll(async () => {
  world = await AgentWorld.open();
  server = await startModelServer({ scripts: [played], defaultScript: played });
});
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  expect(await world.replayDifferences()).toEqual([]);
  await server.close();
  await world.close();
});

async function run({ web = () => Promise.resolve(), webAt = Infinity, idleTimeoutMs = 10_000 }: { web?: () => Promise<void>; webAt?: number; idleTimeoutMs?: number } = {}): Promise<Record<string, unknown>> {
  asked.clear();
  const [choice] = createModels(modelConfig.parse({ MODEL_BASE_URL: `${server.url}/v1`, MODEL_NAME: 'scripted', MODEL_IDLE_TIMEOUT_MS: String(idleTimeoutMs) })).supervisor;
  const surroundings = world.dependencies(() => ({ text: 'never asked' }), { models: sameModelForAll(choice), sleep: () => Promise.resolve() });
  const tools = surroundings.deps.tools.map((tool) => ({ ...tool, timeoutMs: 300 }));
  let requests = 0;
  surroundings.web.before = () => (++requests >= webAt ? web() : undefined);
  const { runId } = await world.newRun();
  expect(await world.drive({ ...surroundings, deps: { ...surroundings.deps, tools } }, runId)).toEqual([]);
  await expectHonest(runId);
  return world.run(runId);
}

/** No fault may look like success, and nothing of a failed answer may be seen anywhere. */
async function expectHonest(runId: RunId): Promise<void> {
  const { status, report } = await world.run(runId);
  if (status === 'completed') expect(report).toContain('A lease is a right with an end');
  else expect(['failed', 'incomplete']).toContain(status);
  for (const [table, column] of [['messages', 'content'], ['tool_calls', 'result'], ['scratchpad_entries', 'text'], ['runs', 'report'], ['run_events', 'body']]) {
    expect(await world.rows(`SELECT 1 FROM ${table} WHERE ${column} LIKE '%TAINT%'`), table).toEqual([]);
  }
}

/** What fails for ever ends the run without success, but for a worker that had read its page: then the report says what failed. */
function expectFlagged(position: Position, { status, report }: Record<string, unknown>): void {
  if (position === 'worker 2' || position === 'worker 3') expect([status, report]).toEqual(['completed', expect.stringContaining('Failures on the way')]);
  else expect(status).not.toBe('completed');
}

describe.each(POSITIONS)('[L44] %s', (position) => {
  it.each(Object.keys(MODEL_FAULTS))('%s once is made good, for ever it ends honestly', async (name) => {
    const fault = MODEL_FAULTS[name]!(GOOD[position]);
    faultAt = (at, times) => (at === position && times === 0 ? fault : null);
    const isFinal = name === 'filter';
    const idle = name === 'timeout' ? { idleTimeoutMs: 300 } : {};
    const once = await run(idle);
    expect(asked.get(position)).toBeGreaterThan(isFinal ? 0 : 1);
    if (!isFinal) expect(once).toMatchObject({ status: 'completed', stop_reason: 'answered' });
    faultAt = (at) => (at === position ? fault : null);
    expectFlagged(position, await run(idle));
    expect(asked.get(position)).toBeLessThanOrEqual(3);
  });

  it.each(Object.keys(CALL_FAULTS))('%s once is answered, for ever it ends honestly', async (name) => {
    faultAt = (at, times) => (at === position && times === 0 ? CALL_FAULTS[name]! : null);
    expect(await run()).toMatchObject({ status: 'completed', stop_reason: 'answered' });
    faultAt = (at) => (at === position ? CALL_FAULTS[name]! : null);
    expectFlagged(position, await run());
  });
});

describe('[L44] the web', () => {
  it.each(Object.keys(WEB_FAULTS))('%s of every request, and from the second on', async (name) => {
    faultAt = () => null;
    for (const from of [1, 2]) expect((await run({ web: WEB_FAULTS[name]!, webAt: from }))['status']).not.toBe('completed');
  });
});

it('[L44] two faults at once, at every pair of places, end honestly', async () => {
  const names = Object.keys(MODEL_FAULTS).filter((name) => name !== 'timeout');
  for (const [index, first] of POSITIONS.entries()) {
    const second = POSITIONS[(index + 2) % POSITIONS.length]!;
    const [one, other] = [names[index % names.length]!, names[(index + 3) % names.length]!];
    faultAt = (at, times) => (times > 0 ? null : at === first ? MODEL_FAULTS[one]!(GOOD[at]) : at === second ? MODEL_FAULTS[other]!(GOOD[at]) : null);
    await run();
  }
});
