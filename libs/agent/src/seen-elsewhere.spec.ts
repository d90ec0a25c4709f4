import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DELEGATIONS_PER_RUN_MAX, QuaestorError, type RunId } from '#contracts';
import { promptPolicy, sameModelForAll, type LanguageModel } from '#domain';
import { AgentWorld, type AgentRunShape, type DependencyOverrides, type InProcessScript, type PlayedDependencies } from '#testing';
import { delegate, diligentWorker, link, note, plan, read, search, story, taskWord } from './spec-support/scripts.ts';

/** Failures that users of other engines have reported, played on this one. */
let world: AgentWorld;
let played: PlayedDependencies;
/** Runs whose rows a spec has changed. */
const changed: RunId[] = [];
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterEach(() => expect(played.model.problems).toEqual([]));
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  expect(await world.replayDifferences({ except: changed })).toEqual([]);
  await world.close();
});

async function play(script: InProcessScript, shape: AgentRunShape = {}, overrides: DependencyOverrides = {}, prepare: () => void = () => undefined): Promise<RunId> {
  played = world.dependencies(script, overrides);
  prepare();
  const { runId } = await world.newRun(shape);
  expect(await world.drive(played, runId)).toEqual([]);
  return runId;
}

const callsOf = (role: string) => played.model.calls.filter((call) => call.role === role);
const resultsOf = async (runId: RunId) => (await world.calls(runId)).map((call) => JSON.parse(call['result'] as string) as { kind: string; code?: string; findings?: number });
const FREE = { price: { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 } };

describe('a history', () => {
  it.each([
    ['none', ''],
    ['the same one each time', 'call_0'],
  ])('[L17] [L18] [B01] [B06] gives each call its own result when its model gives %s for an id, in another process too', async (_, id) => {
    const drain = new AbortController();
    played = world.dependencies(story(['alpha'], {
      worker: (call) => {
        if (call.step === 2) drain.abort();
        return call.step < 3 ? { calls: [search(`left ${call.step}`), search(`right ${call.step}`)] } : { text: 'done' };
      },
    }));
    const [scripted] = played.deps.models.worker;
    const model: LanguageModel = {
      id: scripted.model.id,
      host: scripted.model.host,
      stream: (request, onChunk, signal) => scripted.model.stream(request, (chunk) => onChunk(chunk.type === 'tool-call-delta' ? { ...chunk, id } : chunk), signal),
    };
    const { runId } = await world.newRun();
    let claims = 0;
    const deps = { ...played.deps, models: sameModelForAll({ ...scripted, model }) };
    expect(await world.drive({ ...played, deps }, runId, ({ loaded }) => (loaded.run.role === 'worker' && ++claims === 1 ? { drain: drain.signal } : {}))).toEqual([]);
    expect(claims).toBe(2);
    const { results } = callsOf('worker').at(-1)!;
    expect(results.map(({ content }) => /(left|right) \d/.exec(content)?.[0])).toEqual(['left 0', 'right 0', 'left 1', 'right 1', 'left 2', 'right 2']);
    expect(results.map(({ providerCallId }) => providerCallId)).toEqual(results.map(() => (id === '' ? null : id)));
  });

  it('[B07] cannot hold two results of one call, and one with a result of no call is never sent', async () => {
    const drain = new AbortController();
    played = world.dependencies(({ step }) => {
      drain.abort();
      return step === 0 ? { calls: [plan('a plan')] } : { text: 'Nothing was found.' };
    });
    const { runId, tenantId } = await world.newRun();
    changed.push(runId);
    expect(await world.advance(played, runId, { drain: drain.signal })).toBe('released');
    const [call] = await world.calls(runId);
    const thread = (await world.run(runId))['thread_id'] as string;
    const insert = (toolCallId: string) => world.sql.change(`INSERT INTO messages (tenant_id, thread_id, run_id, role, content, tool_call_id, created_at) VALUES (?, ?, ?, 'tool', 'STRAY', ?, NOW(3))`, [tenantId, thread, runId, toolCallId]);
    await expect(insert(call!['id'] as string)).rejects.toThrow(/Duplicate entry/);
    await insert(`call_${'0'.repeat(26)}`);
    await world.drive(played, runId);
    expect(JSON.stringify(played.model.calls.map(({ request }) => request.messages))).not.toContain('STRAY');
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'insufficient_evidence' });
    await world.sql.change(`DELETE FROM messages WHERE content = 'STRAY'`);
  });

  it('[B12] keeps a parallel batch whole or leaves it out whole, wherever the cut falls', async () => {
    const words = 'word '.repeat(60);
    await play(story(['alpha'], { worker: ({ step }) => (step === 0 ? { calls: [0, 1, 2, 3].map((index) => search(`batch ${index} ${words}`)) } : step < 6 ? { calls: [search(`later ${step} ${words}`)] } : { text: 'done' }) }), {}, { prompts: promptPolicy({ tokensMax: 2_600, rawPageChars: 64_000 }) });
    const kept = callsOf('worker').slice(1).map(({ results }) => results.filter(({ content }) => content.includes('batch')).length);
    expect(new Set(kept)).toEqual(new Set([4, 0]));
  });

  it('[B30] keeps question, limits and task verbatim through every fold', async () => {
    const question = 'What is a lease? LIMIT: only sources of 2026.';
    const pages = 9;
    const filler = 'Nothing of interest stands in this sentence. '.repeat(90);
    await play(story(['p0'], {
      supervisor: ({ step }) => (step === 0 ? { calls: [delegate('task p0 LIMIT: two pages per host'), delegate('task idle')] } : { text: `Ends ${link('p0')}.` }),
      worker: (call) => (taskWord(call) === 'idle' || call.step > pages ? { text: 'Done.' } : { calls: [read(`p${call.step}`)] }),
    }), { question, workerTurns: pages + 3 }, { prompts: promptPolicy({ tokensMax: 100_000, rawPageChars: 9_000 }) }, () => {
      played.web.text = (url) => `${url} ${filler}`;
    });
    const prompts = callsOf('worker').filter((call) => taskWord(call) === 'p0').map(({ request }) => request.messages);
    const folded = prompts.map((messages) => messages.filter(({ content }) => content.includes('Folded: only these passages')).length);
    expect(new Set(folded).size).toBeGreaterThan(3);
    for (const messages of prompts) expect(messages[1]!.content).toContain('task p0 LIMIT: two pages per host');
    for (const { request } of callsOf('supervisor')) expect(request.messages[1]!.content).toContain(question);
    expect(JSON.stringify(callsOf('supervisor').at(-1)!.request.messages)).toContain('task idle');
  });
});

describe('delegations', () => {
  it('[B13] beyond the limit or without a task are refused in their places; the others run, and the refused cost nothing', async () => {
    const runId = await play(story(['alpha'], {
      supervisor: ({ step }) => {
        if (step === 0) return { calls: Array.from({ length: DELEGATIONS_PER_RUN_MAX - 2 }, (_, index) => delegate(`task idle ${index}`)) };
        return step === 1 ? { calls: [delegate('task alpha'), delegate(''), delegate('task beta'), delegate('task gamma')] } : { text: `Ends ${link('alpha')}.` };
      },
      worker: (call) => (taskWord(call) === 'idle' ? { text: 'done' } : diligentWorker(call)),
    }));
    const results = (await resultsOf(runId)).slice(-4);
    expect(results.map(({ kind, code }) => code ?? kind)).toEqual(['delegation', 'TOOL_ARGUMENTS_INVALID', 'delegation', 'DELEGATION_LIMIT_REACHED']);
    expect((await world.workers(runId)).slice(DELEGATIONS_PER_RUN_MAX - 2)).toHaveLength(2);
    expect(callsOf('supervisor').at(-1)!.results.slice(-4).map(({ isError }) => isError)).toEqual([false, true, false, true]);
    expect(new Set(callsOf('worker').map(taskWord))).toEqual(new Set(['idle', 'alpha', 'beta']));
  });

  it('[B15] bring their findings and last answer to the supervisor, and nothing of what was streamed before', async () => {
    const runId = await play(story(['alpha'], { worker: (call) => ({ reasoning: 'SECRET thought '.repeat(50), text: `STREAMED ${'word '.repeat(200)}`, ...diligentWorker(call) }) }));
    const [result] = callsOf('supervisor').at(-1)!.results;
    expect(result!.content).toBe('Task alpha is done.');
    expect(JSON.stringify(callsOf('supervisor').at(-1)!.request.messages)).not.toMatch(/SECRET|STREAMED/);
    expect((await resultsOf(runId))[0]).toMatchObject({ kind: 'delegation', findings: 1 });
  });

  it('[B24] that end with an apology or with an error bring no finding, and the report says that something is missing', async () => {
    const runId = await play(story(['sorry', 'broken'], {
      supervisor: ({ step }) => (step === 0 ? { calls: [delegate('task sorry'), delegate('task broken')] } : { text: 'A lease ends, says everyone.' }),
      worker: (call) => {
        if (taskWord(call) === 'broken') return { error: new QuaestorError('MODEL_REQUEST_REFUSED', 'no') };
        return call.step < 3 ? { calls: [read(`sorry-${call.step}`)] } : { text: 'Sorry, the service is busy at the moment.' };
      },
    }), {}, {}, () => {
      played.web.before = () => Promise.reject(new QuaestorError('PAGE_FETCH_FAILED', 'Down.'));
    });
    expect((await resultsOf(runId)).map(({ kind, findings }) => [kind, findings ?? 0])).toEqual([['delegation', 0], ['error', 0]]);
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'incomplete', stop_reason: 'insufficient_evidence' });
    expect(run['report']).toContain('**Incomplete report.**');
    expect(run['report']).toContain("A worker's task failed");
    expect(await world.rows('SELECT 1 FROM scratchpad_entries WHERE text LIKE ?', ['%service is busy%'])).toEqual([]);
  });

  it.each(['[]', '{"queries":"x"}', '["x"]'])('[B25] asked for as %s are answered with what is wrong, and prose instead ends without evidence', async (malformed) => {
    const runId = await play(({ step }) => (step === 0 ? { calls: [{ name: 'delegate_research_task', arguments: malformed }] } : { text: 'I would search for leases.' }));
    expect((await resultsOf(runId)).map(({ code }) => code)).toEqual(['TOOL_ARGUMENTS_INVALID']);
    expect(callsOf('supervisor')[1]!.results[0]!.content).toContain('task');
    expect(await world.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'insufficient_evidence' });
  });
});

describe('limits', () => {
  it('[B20] a report that is cut at the length limit each time is continued once, kept and flagged', async () => {
    const runId = await play(story(['alpha'], { supervisor: ({ step }) => (step === 0 ? { calls: [delegate('task alpha')] } : { text: `on and on ${link('alpha')} `, finish: 'max-tokens' }) }));
    expect(callsOf('supervisor')).toHaveLength(3);
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'incomplete', stop_reason: 'turns_exhausted', limits_hit: 'output_truncated' });
    expect(run['report']).toMatch(/\*\*Incomplete report\.\*\*[^]*on and on/);
  });

  it('[B27] a worker that reads two pages by turns for ever pays for two, is warned, and stops as a loop', async () => {
    const runId = await play(story(['alpha'], { worker: ({ step }) => ({ calls: [step === 0 ? note(`Found ${link('alpha')}`) : read(step % 2 === 0 ? 'alpha' : 'beta')] }) }), { workerTurns: 50 });
    expect(played.web.reads).toHaveLength(2);
    expect(Number(await world.one('SELECT COUNT(*) FROM reservations WHERE root_run_id = ? AND operation = ?', [runId, 'read']))).toBe(2);
    const [worker] = await world.workers(runId);
    expect(worker).toMatchObject({ stop_reason: 'loop_detected', last_error_code: 'LOOP_DETECTED' });
    expect(callsOf('worker').at(-1)!.results.at(-1)!.content).toContain('Once more ends the run');
    expect((await resultsOf(runId))[0]).toMatchObject({ findings: 1 });
  });

  it.each([
    ['finds nothing', () => Promise.resolve({ hits: [] })],
    ['wants to be left alone', () => Promise.reject(new QuaestorError('SEARCH_FAILED', 'Too many requests.', { retryable: true, retryAfterMs: 1_000 }))],
  ])('[B29] a search that always %s leads to no report from memory', async (_, answer) => {
    const runId = await play(story(['alpha'], { supervisor: ({ step }) => (step === 0 ? { calls: [delegate('task alpha')] } : { text: `Everyone knows: a lease ends ${link('alpha')}.` }), worker: ({ step }) => (step < 2 ? { calls: [search(`lease ${step}`)] } : { text: 'A lease ends.' }) }), {}, {}, () => {
      played.web.search = answer;
    });
    const run = await world.run(runId);
    expect(run).toMatchObject({ status: 'incomplete', stop_reason: 'insufficient_evidence' });
    expect(run['report']).not.toContain('pages.test');
    expect(await world.rows('SELECT 1 FROM sources WHERE root_run_id = ?', [runId])).toEqual([]);
  });

  it('[B32] five workers that read at the same moment never hold more than the budget, and the report is written', async () => {
    const words = ['one', 'two', 'three', 'four', 'five'];
    const held: number[] = [];
    const runId = await play(story(words, { worker: (call) => (call.step === 0 ? { calls: [0, 1, 2, 3].map((index) => read(index === 0 ? taskWord(call) : `${taskWord(call)}-${index}`)) } : { text: 'done' }), supervisor: ({ step }) => (step === 0 ? { calls: words.map((word) => delegate(`task ${word}`)) } : { text: `Ends ${words.map(link).join(' ')}.` }) }), { budgetCredits: 10, workersMax: 5 }, FREE, () => {
      played.web.before = async () => {
        const [ledger] = await world.rows('SELECT (reserved_microcredits + spent_microcredits) / 1000000 AS held FROM budgets WHERE limit_microcredits = 10000000');
        held.push(Number(ledger!['held']));
      };
    });
    expect(played.web.reads).toHaveLength(5);
    expect(Math.max(...held)).toBeLessThanOrEqual(10);
    const codes = await world.rows(`SELECT error_code FROM tool_calls WHERE root_run_id = ? AND name = 'read_web_page' AND error_code IS NOT NULL`, [runId]);
    expect(codes).toEqual(Array.from({ length: 15 }, () => ({ error_code: 'BUDGET_EXHAUSTED' })));
    expect((await world.run(runId))['report']).toContain('Ends');
  });

  it('[B36] a query that is too long is refused with what is allowed, before it costs anything', async () => {
    const runId = await play(story(['alpha'], { worker: ({ step }) => (step === 0 ? { calls: [search('x'.repeat(401))] } : { text: 'done' }) }));
    expect(callsOf('worker')[1]!.results[0]!.content).toMatch(/ERROR TOOL_ARGUMENTS_INVALID.*400/);
    expect(await world.rows('SELECT 1 FROM reservations WHERE root_run_id = ? AND operation = ?', [runId, 'search'])).toEqual([]);
  });
});
