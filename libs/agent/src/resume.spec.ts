import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type RunId } from '#contracts';
import type { RunJournal } from '#domain';
import { AgentWorld, waitUntil, type InProcessScript, type PlayedDependencies } from '#testing';
import { delegate, diligentWorker, link, note, plan, read, readNotes, search, story } from './spec-support/scripts.ts';

let world: AgentWorld;
let played: PlayedDependencies;
/** Runs whose stored rows a test has changed. */
const rewritten: RunId[] = [];
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterEach(() => expect(played.model.problems).toEqual([]));
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  expect(await world.replayDifferences({ except: rewritten })).toEqual([]);
  await world.close();
});

type Verb = keyof RunJournal & string;
interface Kill {
  /** Which call of the journal, from 1. */
  at: number;
  /** Whether its transaction was committed before the process died. */
  committed: boolean;
}

/** A journal whose process dies at one of its calls: that one and every later one ends with LEASE_LOST. */
function dyingJournal(journal: RunJournal, kill: Kill): { journal: RunJournal; verbs: Verb[]; died: () => boolean } {
  const verbs: Verb[] = [];
  let dead = false;
  const lost = () => new QuaestorError('LEASE_LOST', 'The process died here.');
  const wrap = (verb: Verb, call: (...given: unknown[]) => Promise<unknown>) => async (...given: unknown[]) => {
    if (dead) throw lost();
    verbs.push(verb);
    if (verbs.length !== kill.at) return call(...given);
    dead = true;
    if (kill.committed) await call(...given);
    throw lost();
  };
  const dying = new Proxy(journal, { get: (target, name) => wrap(name as Verb, (Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>).bind(target)) });
  return { journal: dying, verbs, died: () => dead };
}

/** One worker with parallel calls, a plan, notes and a report: every verb of the journal is used. */
const script: InProcessScript = story(['alpha'], {
  supervisor: (call) => [{ calls: [plan('the plan')] }, { calls: [delegate('task alpha')] }, { calls: [readNotes] }][call.step] ?? { text: `A right with an end ${link('alpha')}.` },
  worker: (call) => [{ calls: [search('x'), read('alpha')] }, { calls: [note('Found in alpha'), search('y')] }][call.step] ?? { text: 'Task done.' },
});

/** What a run comes to, without ids, times and lost attempts. */
async function storyOf(rootRunId: RunId): Promise<unknown> {
  const runs = await world.rows('SELECT role, worker_number, status, stop_reason, turn, limits_hit, report IS NOT NULL AS reported FROM runs WHERE root_run_id = ? ORDER BY run_no', [rootRunId]);
  const messages = await world.rows(
    `SELECT r.role AS run_role, m.role, m.content, m.is_error, c.name, c.status, c.error_code FROM messages m JOIN runs r ON r.id = m.run_id
      LEFT JOIN tool_calls c ON c.id = m.tool_call_id WHERE r.root_run_id = ? ORDER BY r.run_no, m.sequence_no`,
    [rootRunId],
  );
  const attempts = await world.rows(`SELECT r.role, a.turn, a.kind, a.outcome FROM attempts a JOIN runs r ON r.id = a.run_id WHERE a.root_run_id = ? AND a.outcome <> 'lost' ORDER BY r.run_no, a.turn`, [rootRunId]);
  const entries = await world.rows('SELECT author, kind, text FROM scratchpad_entries e JOIN runs r ON r.scratchpad_thread_id = e.thread_id WHERE r.id = ? ORDER BY sequence_no', [rootRunId]);
  const sources = await world.rows('SELECT url FROM sources WHERE root_run_id = ?', [rootRunId]);
  const paid = await world.rows(`SELECT operation, SUM(charge_microcredits) AS charge FROM reservations WHERE root_run_id = ? AND operation IN ('search', 'read') GROUP BY operation ORDER BY operation`, [rootRunId]);
  return { runs, messages, attempts, entries, sources, paid };
}

async function killed(kill: Kill): Promise<{ runId: RunId; verbs: Verb[]; died: boolean; modelCalls: number }> {
  const dying = dyingJournal(world.journal, kill);
  played = world.dependencies(script, { journal: dying.journal });
  const { runId } = await world.newRun();
  await world.drive(played, runId);
  const successor = { ...played, deps: { ...played.deps, journal: world.journal } };
  await world.recover(successor, runId);
  return { runId, verbs: dying.verbs, died: dying.died(), modelCalls: played.model.calls.length };
}

describe('[Q-04] [Q-33] a process that dies at any call of the journal', async () => {
  it.each([false, true])('leaves a run that ends as if nothing had happened (committed: %s)', async (committed) => {
    const whole = await killed({ at: 0, committed });
    const expected = await storyOf(whole.runId);
    expect(whole.verbs.toSorted().filter((verb, index, all) => verb !== all[index - 1])).toEqual(['claim', 'closeTurn', 'endRun', 'park', 'settleTurn']);
    const repeated: string[] = [];
    for (let at = 1; ; at++) {
      const { runId, verbs, died, modelCalls } = await killed({ at, committed });
      if (!died) break;
      const verb = verbs.at(-1)!;
      expect(await storyOf(runId), `killed at ${at}, ${verb}`).toEqual(expected);
      if (modelCalls > whole.modelCalls) repeated.push(verb);
      expect(modelCalls - whole.modelCalls, `killed at ${at}, ${verb}`).toBeLessThanOrEqual(1);
      expect(await world.one('SELECT COUNT(*) FROM run_events WHERE root_run_id = ? AND type = ? AND body LIKE ?', [runId, 'run_status', '%completed%'])).toBe('1');
    }
    // only an answer that was never stored is asked for again
    const unstored = whole.verbs.filter((verb) => verb === 'settleTurn' || verb === 'endRun');
    expect(repeated.toSorted()).toEqual(committed ? [] : unstored.toSorted());
  });

  it('[Q-06] marks the attempt that nobody settled as lost, and keeps it spent', async () => {
    const { runId } = await killed({ at: 2, committed: false });
    expect(await world.attempts(runId)).toMatchObject([
      { turn: 1, attempt: 1, kind: 'attempt', outcome: 'lost', error_code: 'ATTEMPT_LOST' },
      { turn: 1, attempt: 2, kind: 'message', outcome: 'completed' },
      { turn: 2 }, { turn: 3 }, { turn: 4 },
    ]);
    const [lost] = await world.rows('SELECT state, charge_microcredits = estimate_microcredits AS spent FROM reservations WHERE effect_key = ?', [`model:${runId}:1:1`]);
    // a comparison is a number on MariaDB and a BIGINT, so a text, on MySQL
    expect([lost?.['state'], Number(lost?.['spent'])]).toEqual(['unknown', 1]);
  });

  it('[Q-34] and dies again and again still ends the same', async () => {
    const expected = await storyOf((await killed({ at: 0, committed: true })).runId);
    played = world.dependencies(script);
    const { runId } = await world.newRun();
    for (let death = 0; death < 40; death++) {
      const dying = dyingJournal(world.journal, { at: 3 + (death % 3), committed: death % 2 === 0 });
      await world.recover({ ...played, deps: { ...played.deps, journal: dying.journal } }, runId);
      if ((await world.run(runId))['ended_at'] !== null) break;
    }
    expect(await storyOf(runId)).toEqual(expected);
  });
});

describe('a run that lost its process', () => {
  it('[Q-02] [L50] executes an open call again under its own id, and pays it once', async () => {
    const dying = dyingJournal(world.journal, { at: 0, committed: false });
    played = world.dependencies(story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [read('alpha')] } : { text: 'done' }) }), { journal: dying.journal });
    const { runId } = await world.newRun();
    const abort = new AbortController();
    played.web.before = () => new Promise<void>(() => undefined);
    const driven = world.drive(played, runId, () => ({ abort: abort.signal }));
    await waitUntil(() => played.web.reads.length === 1, { what: 'the read', intervalMs: 5 });
    abort.abort(new QuaestorError('LEASE_LOST', 'gone'));
    await driven;
    played.web.before = () => undefined;
    await world.recover(played, runId);
    expect(played.web.reads).toHaveLength(2);
    expect(await world.one('SELECT COUNT(*) FROM reservations WHERE root_run_id = ? AND operation = ?', [runId, 'read'])).toBe('1');
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });

  it('[Q-01] [L50] answers an open call whose tool it does not know with an error, and goes on', async () => {
    const dying = dyingJournal(world.journal, { at: 2, committed: true });
    played = world.dependencies(story(['alpha'], { supervisor: (call) => [{ calls: [readNotes] }, { calls: [delegate('task alpha')] }][call.step] ?? { text: `Done ${link('alpha')}.` } }), { journal: dying.journal });
    const { runId } = await world.newRun();
    await world.drive(played, runId);
    rewritten.push(runId);
    await world.sql.change(`UPDATE tool_calls SET name = 'tool_of_another_version' WHERE run_id = ? AND status = 'open'`, [runId]);
    await world.recover({ ...played, deps: { ...played.deps, journal: world.journal } }, runId);
    expect((await world.calls(runId))[0]).toMatchObject({ status: 'failed', error_code: 'TOOL_UNKNOWN' });
    await world.sql.change(`UPDATE tool_calls SET name = 'read_scratchpad' WHERE run_id = ? AND name = 'tool_of_another_version'`, [runId]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });

  it('goes on with a cut answer where it stopped, instead of taking it for a whole one', async () => {
    const cut: InProcessScript = (call) => (call.request.messages.at(-1)!.content.includes('cut at the length limit') ? { text: 'and its end.' } : { text: 'The beginning ', finish: 'max-tokens' });
    const dying = dyingJournal(world.journal, { at: 2, committed: true });
    played = world.dependencies(cut, { journal: dying.journal });
    const { runId } = await world.newRun();
    await world.drive(played, runId);
    await world.recover({ ...played, deps: { ...played.deps, journal: world.journal } }, runId);
    expect((await world.run(runId))['report']).toContain('The beginning and its end.');
  });
});

describe('[Q-30] a drain', () => {
  it('between a cut answer and its continuation loses neither', async () => {
    const drain = new AbortController();
    played = world.dependencies((call) => {
      drain.abort();
      return call.request.messages.at(-1)!.content.includes('cut at the length limit') ? { text: 'and its end.' } : { text: 'The beginning ', finish: 'max-tokens' };
    });
    const { runId } = await world.newRun();
    expect(await world.advance(played, runId, { drain: drain.signal })).toBe('released');
    await world.drive(played, runId);
    expect((await world.run(runId))['report']).toContain('The beginning and its end.');
    expect(played.model.calls).toHaveLength(2);
  });

  it('hands the run over at its next turn boundary; another process claims it at once and repeats nothing', async () => {
    const drain = new AbortController();
    played = world.dependencies(story(['alpha'], { supervisor: (call) => {
      if (call.step === 0) drain.abort();
      return [{ calls: [plan('a plan')] }, { calls: [delegate('task alpha')] }][call.step] ?? { text: `Done ${link('alpha')}.` };
    } }));
    const { runId } = await world.newRun();
    expect(await world.advance(played, runId, { drain: drain.signal })).toBe('released');
    expect(played.jobs.filter(({ queue }) => queue === 'runs')).toMatchObject([{ payload: { runId } }]);
    expect(await world.run(runId)).toMatchObject({ status: 'running', lease_owner: null, turn: 1 });
    expect(await world.drive(played, runId)).toEqual([]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
    expect(played.model.calls.filter(({ role }) => role === 'supervisor')).toHaveLength(3);
    expect(await world.one('SELECT COUNT(*) FROM reservations WHERE run_id = ? AND state = ?', [runId, 'unknown'])).toBe('0');
  });

  it('does not wait for the next try of a model call that failed', async () => {
    const drain = new AbortController();
    played = world.dependencies((call) => {
      if (played.model.calls.length > 1) return story(['alpha'])(call);
      drain.abort();
      return { error: new QuaestorError('MODEL_OVERLOADED', 'busy', { retryAfterMs: 60_000, details: { accepted: false } }) };
    });
    const { runId } = await world.newRun();
    expect(await world.advance(played, runId, { drain: drain.signal })).toBe('released');
    expect(await world.drive(played, runId)).toEqual([]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
    expect(await world.one('SELECT COUNT(*) FROM reservations WHERE run_id = ? AND state = ?', [runId, 'unknown'])).toBe('0');
  });

  it('hands a worker over by a new delivery of its delegation', async () => {
    const drain = new AbortController();
    drain.abort();
    played = world.dependencies(story(['alpha'], { worker: diligentWorker }));
    const { runId } = await world.newRun();
    expect(await world.advance(played, runId)).toBe('parked');
    const [delegation] = played.jobs.splice(0).filter(({ queue }) => queue === 'delegations');
    const workerId = await world.workerOf(delegation!.payload['toolCallId'] as never);
    expect(await world.advance(played, workerId, { drain: drain.signal })).toBe('released');
    expect(played.jobs).toMatchObject([{ queue: 'delegations', payload: delegation!.payload }]);
    expect(played.jobs[0]!.jobId).not.toBe(delegation!.jobId);
    await world.drive(played, runId);
    await world.drive(played, workerId);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });

  it('[Q-32] leaves a run alone that another process holds, or that waits, or has ended', async () => {
    played = world.dependencies(story(['alpha']));
    const { runId } = await world.newRun();
    const claims = await Promise.all(Array.from({ length: 6 }, () => world.advance(played, runId)));
    expect(claims.filter((exit) => exit !== null)).toEqual(['parked']);
    expect(await world.advance(played, runId)).toBeNull();
    await world.drive(played, runId);
    expect(await world.advance(played, runId)).toBeNull();
  });
});
