import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type RunId, type TenantId } from '#contracts';
import { AgentWorld, type InProcessScript, type PlayedDependencies, type WantedCall } from '#testing';
import { delegate, diligentWorker, link, note, plan, read, readNotes, search, story, taskWord } from './spec-support/scripts.ts';

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

async function play(script: InProcessScript, shape = {}): Promise<RunId> {
  played = world.dependencies(script);
  const { runId } = await world.newRun(shape);
  expect(await world.drive(played, runId)).toEqual([]);
  return runId;
}

const ending = async (runId: RunId) => {
  const { status, stop_reason: reason, limits_hit: limits } = await world.run(runId);
  return { status, reason, limits } as { status: string; reason: string; limits: string };
};

describe('how a run ends', () => {
  it('[Q-23] answered, when its report cites a page that was read', async () => {
    const runId = await play(story(['alpha']));
    expect(await ending(runId)).toEqual({ status: 'completed', reason: 'answered', limits: '' });
    const { report } = await world.run(runId);
    expect(report).toMatch(/^A lease is a right with an end page \[1\]\./);
    expect(report).toContain('https://pages.test/alpha');
  });

  it.each([
    ['cites nothing', () => 'A lease ends.'],
    ['cites a page nobody read', () => `A lease ends ${link('elsewhere')}.`],
  ])('[Q-23] insufficient_evidence and a flagged report, when it %s', async (_what, text) => {
    const runId = await play(story(['alpha'], { supervisor: (call) => (call.step === 0 ? { calls: [delegate('task alpha')] } : { text: text() }) }));
    expect(await ending(runId)).toMatchObject({ status: 'incomplete', reason: 'insufficient_evidence' });
    expect((await world.run(runId))['report']).toContain('**Incomplete report.**');
    expect((await world.run(runId))['report']).not.toContain('https://pages.test/elsewhere');
  });

  it('answered with a notice, when a worker failed on the way', async () => {
    const runId = await play(story(['alpha', 'beta'], {
      worker: (call) => (taskWord(call) === 'beta' ? { error: new QuaestorError('MODEL_REQUEST_REFUSED', 'no') } : diligentWorker(call)),
    }));
    expect(await ending(runId)).toMatchObject({ reason: 'answered' });
    expect((await world.run(runId))['report']).toContain('Failures on the way');
  });
});

describe('tool calls', () => {
  it('[Q-17] with a name longer than anything the engine stores are answered as unknown, and the run goes on', async () => {
    const runId = await play(story(['alpha'], {
      supervisor: (call) => [{ calls: [{ name: 'n'.repeat(300), arguments: {} }] }, { calls: [delegate('task alpha')] }][call.step] ?? { text: `Done ${link('alpha')}.` },
    }));
    expect(await ending(runId)).toMatchObject({ reason: 'answered' });
    expect((await world.calls(runId))[0]).toMatchObject({ status: 'failed', error_code: 'TOOL_UNKNOWN' });
  });

  it('[Q-01] [Q-11] gives each parallel call its own result, in call order whatever the finishing order', async () => {
    const names = ['slow', 'middle', 'quick'];
    played = world.dependencies(story(['alpha'], {
      supervisor: (call) => (call.step === 0 ? { calls: [delegate('task alpha')] } : { text: `Done ${link('slow')}.` }),
      worker: (call) => (call.step === 0 ? { calls: [...names.map(read), search('x')] } : { text: 'done' }),
    }));
    const finished: string[] = [];
    const gates = { quick: Promise.withResolvers<void>(), middle: Promise.withResolvers<void>(), slow: Promise.withResolvers<void>() };
    gates.quick.resolve();
    played.web.before = async (what) => {
      const name = (['slow', 'middle', 'quick'] as const).find((one) => what.endsWith(one));
      if (!name) return;
      await gates[name].promise;
      finished.push(name);
      gates[name === 'quick' ? 'middle' : 'slow'].resolve();
    };
    const { runId } = await world.newRun();
    expect(await world.drive(played, runId)).toEqual([]);
    expect(finished).toEqual(['quick', 'middle', 'slow']);
    const [worker] = await world.workers(runId);
    const after = played.model.calls.find((call) => call.role === 'worker' && call.step === 1)!;
    expect(after.results.map(({ content }) => /pages.test\/(\w+)|results for/.exec(content)?.[1] ?? 'hits')).toEqual([...names, 'hits']);
    expect((await world.calls(worker!['id'] as RunId)).map((call) => call['status'])).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded']);
  });

  const BAD: [string, WantedCall, string][] = [
    ['arguments that are no JSON', { name: 'perform_web_search', arguments: '{"query": "x' }, 'TOOL_ARGUMENTS_INVALID'],
    ['arguments of the wrong shape', { name: 'perform_web_search', arguments: { query: 7 } }, 'TOOL_ARGUMENTS_INVALID'],
    ['a tool that does not exist', { name: 'launch_rocket', arguments: {} }, 'TOOL_UNKNOWN'],
    ['a tool of another role', delegate('more'), 'TOOL_NOT_DECLARED'],
    ['an address outside of the policy', { name: 'read_web_page', arguments: { url: 'ftp://x.test/' } }, 'URL_REFUSED'],
  ];
  it.each(BAD)('[Q-01] [L27] [B08] answers %s with an error result, beside a good call, and goes on', async (_what, bad, code) => {
    const runId = await play(story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [bad, read('alpha')] } : { text: 'done' }) }));
    expect(await ending(runId)).toMatchObject({ reason: 'answered' });
    const [worker] = await world.workers(runId);
    expect((await world.calls(worker!['id'] as RunId)).map((call) => call['error_code'])).toEqual([code, null]);
    const after = played.model.calls.find((call) => call.role === 'worker' && call.step === 1)!;
    expect(after.results.map(({ isError }) => isError)).toEqual([true, false]);
    expect(after.results[0]!.content).toContain(`ERROR ${code}`);
  });

  it('answers a tool that broke with an error result that tells nothing of the inside', async () => {
    played = world.dependencies(story(['alpha']));
    played.web.before = (what) => (what === 'alpha' ? Promise.reject(new TypeError('secret inside')) : undefined);
    const { runId } = await world.newRun();
    await world.drive(played, runId);
    const [worker] = await world.workers(runId);
    expect((await world.calls(worker!['id'] as RunId))[0]).toMatchObject({ status: 'failed', error_code: 'TOOL_FAILED' });
    expect(JSON.stringify(played.model.calls.map((call) => call.request.messages))).not.toContain('secret inside');
  });

  it('[Q-01] [B36] ends a tool that ignores its signal when its time is over', async () => {
    const script = story(['alpha']);
    const base = world.dependencies(script);
    const tools = base.deps.tools.map((tool) => (tool.name === 'perform_web_search' ? { ...tool, timeoutMs: 60 } : tool));
    played = world.dependencies(script, { tools });
    played.web.before = (what) => (what === 'alpha' ? new Promise<void>(() => undefined) : undefined);
    const { runId } = await world.newRun();
    await world.drive(played, runId);
    const [worker] = await world.workers(runId);
    expect((await world.calls(worker!['id'] as RunId))[0]).toMatchObject({ status: 'failed', error_code: 'TOOL_TIMEOUT' });
    expect(await ending(runId)).toMatchObject({ reason: 'answered' });
  });

  it('[Q-21] keeps notes on the scratchpad of the run and results in the conversation of the caller', async () => {
    const runId = await play(story(['alpha'], {
      supervisor: (call) => [{ calls: [plan('the plan'), delegate('task alpha')] }, { calls: [readNotes, note('mine')] }][call.step] ?? { text: `Done ${link('alpha')}.` },
    }));
    const root = await world.run(runId);
    const entries = await world.rows('SELECT author, kind, text FROM scratchpad_entries WHERE thread_id = ? ORDER BY sequence_no', [root['scratchpad_thread_id'] as string]);
    expect(entries.map(({ author, kind }) => [author, kind])).toEqual([['worker', 'finding'], ['supervisor', 'note']]);
    expect(await world.one('SELECT body FROM scratchpads WHERE thread_id = ?', [root['scratchpad_thread_id'] as string])).toBe('the plan');
    const shown = played.model.calls.find((call) => call.role === 'supervisor' && call.step === 2)!.results[2]!.content;
    expect(shown).toContain('the plan');
    expect(shown).toContain('Found in alpha');
  });
});

describe('delegation', () => {
  it('[Q-11] runs k workers; their results reach the supervisor in call order, and nothing of their transcripts does', async () => {
    const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'];
    const runId = await play(story(words, { worker: async (call) => ({ reasoning: `transcript ${taskWord(call)}`, ...diligentWorker(call) }) }), { workersMax: 2 });
    expect((await world.workers(runId)).map((run) => [run['status'], run['worker_number']])).toEqual(words.map((_, index) => ['completed', index + 1]));
    const report = played.model.calls.filter((call) => call.role === 'supervisor').at(-1)!;
    expect(report.results.map(({ content }) => content)).toEqual(words.map((word) => `Task ${word} is done.`));
    const sent = JSON.stringify(report.request.messages);
    for (const inside of ['transcript', 'Search results', 'The page at']) expect(sent).not.toContain(inside);
    expect(report.request.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', ...words.map(() => 'tool')]);
  });

  it('[Q-11] shows a worker its task and nothing of the supervisor', async () => {
    await play(story(['alpha'], { supervisor: (call) => (call.step === 0 ? { text: 'my private thought', calls: [delegate('task alpha')] } : { text: `Done ${link('alpha')}.` }) }));
    const first = played.model.calls.find((call) => call.role === 'worker')!;
    expect(first.request.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(JSON.stringify(first.request.messages)).not.toMatch(/private thought|What is a lease/);
    expect(first.tools).not.toContain('delegate_research_task');
  });
});

describe('answers that are none', () => {
  const busy = () => new QuaestorError('MODEL_OVERLOADED', 'busy', { details: { accepted: false } });

  it('[Q-06] tries again after a failure that may pass; the failed attempt is kept and in no later prompt', async () => {
    const runId = await play(story(['alpha'], {
      supervisor: (call) => (call.step === 0 ? { calls: [delegate('task alpha')] } : call.repeat === 0 ? { text: 'TAINT of a try', error: busy() } : { text: `Good ${link('alpha')}.` }),
    }));
    expect(await world.attempts(runId)).toMatchObject([
      { turn: 1, attempt: 1, kind: 'message', outcome: 'completed' },
      { turn: 2, attempt: 1, kind: 'attempt', outcome: 'failed', error_code: 'MODEL_OVERLOADED' },
      { turn: 2, attempt: 2, kind: 'message', outcome: 'completed' },
    ]);
    expect(JSON.stringify(played.model.calls.map((call) => call.request.messages))).not.toContain('TAINT');
    expect((await world.run(runId))['report']).not.toContain('TAINT');
    const stored = await world.rows('SELECT v.charge_microcredits FROM reservations v WHERE v.effect_key = ?', [`model:${runId}:2:1`]);
    expect(Number(stored[0]!['charge_microcredits'])).toBe(0);
  });

  it('[Q-06] gives up after three tries, with the reason', async () => {
    const runId = await play(() => ({ error: busy() }));
    expect(await ending(runId)).toMatchObject({ status: 'failed', reason: 'provider_failed' });
    expect(await world.run(runId)).toMatchObject({ last_error_code: 'MODEL_OVERLOADED' });
    expect(played.model.calls).toHaveLength(3);
  });

  it('[Q-05] a worker whose model refuses fails its delegation; its partial text is nowhere', async () => {
    const runId = await play(story(['alpha', 'beta'], {
      worker: (call) => {
        if (taskWord(call) !== 'beta') return diligentWorker(call);
        return call.step === 0 ? { calls: [search('beta')] } : { text: 'TAINT the answer is forty-two', error: new QuaestorError('MODEL_REQUEST_REFUSED', 'refused') };
      },
    }));
    const workers = await world.workers(runId);
    expect(workers.map((run) => [run['status'], run['stop_reason']])).toEqual([['completed', 'answered'], ['failed', 'provider_failed']]);
    const [, failed] = await world.calls(runId);
    expect(JSON.parse(failed!['result'] as string)).toMatchObject({ kind: 'error', code: 'DELEGATION_FAILED', findings: 0 });
    const message = await world.rows('SELECT is_error FROM messages WHERE tool_call_id = ?', [failed!['id'] as string]);
    expect(message).toMatchObject([{ is_error: 1 }]);
    await expectNowhere('TAINT');
    expect(JSON.stringify(played.model.calls.map((call) => call.request.messages))).not.toContain('TAINT');
  });

  it('[Q-05] a worker whose answer was cut twice fails its delegation; its text is nowhere', async () => {
    const runId = await play(story(['alpha', 'beta'], {
      worker: (call) => (taskWord(call) === 'beta' ? { text: 'HALFSAID goes on ', finish: 'max-tokens' } : diligentWorker(call)),
    }));
    const results = played.model.calls.filter(({ role }) => role === 'supervisor').at(-1)!.request.messages.filter(({ role }) => role === 'tool');
    expect(results.map(({ content }) => content.includes('TURNS_EXHAUSTED'))).toContain(true);
    const shown = JSON.stringify(results) + String((await world.run(runId))['report']);
    expect(shown).not.toContain('HALFSAID');
  });

  it('[Q-05] [L30] [B19] an answer that was filtered or stays empty is no answer', async () => {
    const filtered = await play(() => ({ text: 'TAINT', finish: 'content-filter' }));
    expect(await world.run(filtered)).toMatchObject({ stop_reason: 'provider_failed', last_error_code: 'MODEL_CONTENT_FILTERED' });
    expect(await world.attempts(filtered)).toMatchObject([{ outcome: 'filtered' }]);
    const empty = await play(() => ({ text: '  ' }));
    expect(await world.run(empty)).toMatchObject({ stop_reason: 'provider_failed', last_error_code: 'MODEL_EMPTY_ANSWER' });
    expect((await world.attempts(empty)).map(({ outcome }) => outcome as string)).toEqual(['empty', 'empty', 'empty']);
    await expectNowhere('TAINT');
  });

  it('continues an answer that was cut at the length limit, once', async () => {
    const runId = await play(story(['alpha'], {
      supervisor: (call) => {
        if (call.step === 0) return { calls: [delegate('task alpha')] };
        return call.request.messages.at(-1)!.content.includes('cut at the length limit') ? { text: `with an end ${link('alpha')}.` } : { text: 'A lease is a right ', finish: 'max-tokens' };
      },
    }));
    expect(await ending(runId)).toEqual({ status: 'completed', reason: 'answered', limits: '' });
    expect((await world.run(runId))['report']).toMatch(/^A lease is a right with an end page \[1\]/);
    expect((await world.attempts(runId)).map(({ outcome }) => outcome as string)).toEqual(['completed', 'truncated', 'completed']);
  });

  it('keeps what there is, marked, when the continuation is cut too', async () => {
    const runId = await play(() => ({ text: 'on and on ', finish: 'max-tokens' }));
    expect(await ending(runId)).toEqual({ status: 'incomplete', reason: 'turns_exhausted', limits: 'output_truncated' });
    expect((await world.run(runId))['report']).toContain('on and on on and on');
    expect(played.model.calls).toHaveLength(2);
  });

  it('asks for no continuation any more once the model has gone on to call tools', async () => {
    const runId = await play(story(['alpha'], {
      supervisor: (call) => {
        if (call.request.messages.length === 2) return { text: 'First I will ', finish: 'max-tokens' };
        return [{ calls: [plan('a plan')] }, { calls: [delegate('task alpha')] }][call.step] ?? { text: `The report ${link('alpha')}.` };
      },
    }));
    const afterPlan = played.model.calls.find((call) => call.role === 'supervisor' && call.step === 1)!;
    expect(afterPlan.request.messages.at(-1)!.role).toBe('tool');
    expect((await world.run(runId))['report']).toMatch(/^The report/);
  });

  async function expectNowhere(token: string): Promise<void> {
    const places: [string, string][] = [['messages', 'content'], ['tool_calls', 'result'], ['scratchpad_entries', 'text'], ['scratchpads', 'body'], ['runs', 'report'], ['run_events', 'body']];
    for (const [table, column] of places) expect(await world.rows(`SELECT 1 FROM ${table} WHERE ${column} LIKE ?`, [`%${token}%`]), table).toEqual([]);
  }
});

it('[Q-26] spends and writes under the tenant of the run only', async () => {
  played = world.dependencies(story(['alpha']));
  const { runId, tenantId } = await world.newRun();
  await world.drive(played, runId);
  for (const table of ['attempts', 'tool_calls', 'sources', 'run_events', 'reservations']) {
    const tenants = await world.rows(`SELECT DISTINCT tenant_id FROM ${table} WHERE root_run_id = ?`, [runId]);
    expect(tenants.map((row) => row['tenant_id'] as TenantId), table).toEqual([tenantId]);
  }
});
