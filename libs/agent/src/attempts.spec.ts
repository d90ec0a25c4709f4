import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ATTEMPTS_PER_TURN_MAX, QuaestorError, type RunId } from '#contracts';
import { sameModelForAll, type LanguageModel, type RunJournal } from '#domain';
import { AgentWorld, waitUntil, type InProcessScript, type PlayedDependencies } from '#testing';
import { delegate, isFinishing, link, note, plan, story } from './spec-support/scripts.ts';

let world: AgentWorld;
let played: PlayedDependencies;
beforeAll(async () => {
  world = await AgentWorld.open();
});
afterEach(() => expect(played.model.problems).toEqual([]));
afterAll(async () => {
  expect(await world.brokenPromises()).toEqual([]);
  await world.close();
});

/** Nobody waits for the next try. */
const atOnce = { sleep: () => Promise.resolve() };
const never = (): Promise<never> => new Promise(() => undefined);
const busy = new QuaestorError('MODEL_OVERLOADED', 'busy', { details: { accepted: false } });
/** MySQL counts in numbers that may be large, MariaDB in small ones. */
async function charged(runId: RunId, operation: string): Promise<{ state: unknown; paid: number }[]> {
  const rows = await world.rows('SELECT state, charge_microcredits > 0 AS paid FROM reservations WHERE run_id = ? AND operation = ? ORDER BY created_at, effect_key DESC', [runId, operation]);
  return rows.map(({ state, paid }) => ({ state, paid: Number(paid) }));
}

/** Drives a run whose process dies in the model call for which `isDeadly` says so, and leaves it as it is then. */
async function died(script: InProcessScript, isDeadly: (calls: number) => boolean, runId: RunId): Promise<void> {
  let isIn = false;
  played = world.dependencies((call) => {
    if (!isDeadly(played.model.calls.length)) return script(call);
    isIn = true;
    return never();
  }, atOnce);
  const abort = new AbortController();
  const driven = world.drive(played, runId, () => ({ abort: abort.signal }));
  await waitUntil(() => isIn, { what: 'the model call', intervalMs: 5 });
  abort.abort(new QuaestorError('LEASE_LOST', 'The process died here.'));
  expect(await driven).toMatchObject([{ code: 'LEASE_LOST' }]);
}

async function survived(script: InProcessScript, runId: RunId): Promise<void> {
  played = world.dependencies(script, atOnce);
  await world.recover(played, runId);
}

/** A run whose one worker keeps a finding, and which then plans for ever, until its turns are over. */
const restless: InProcessScript = (call) => {
  if (isFinishing(call)) return { text: `The report ${link('alpha')}.` };
  if (call.role === 'worker') return call.step === 0 ? { calls: [note('A finding.')] } : { text: 'done' };
  return { calls: [call.step === 0 ? delegate('task alpha') : plan(`plan ${call.step}`)] };
};
const WORKER_CALLS = 2;
const isFinish = (turns: number) => (calls: number): boolean => calls === turns + WORKER_CALLS + 1;

describe('a finishing call whose process dies', () => {
  it('[Q-06] [Q-13] is recorded as lost, stays spent, and is made again from a second allowance', async () => {
    const { runId } = await world.newRun({ supervisorTurns: 2 });
    await died(restless, isFinish(2), runId);
    expect(await world.attempts(runId)).toHaveLength(2);
    await survived(restless, runId);
    expect((await world.attempts(runId)).slice(2)).toMatchObject([{ turn: 3, attempt: 1, outcome: 'lost', error_code: 'ATTEMPT_LOST' }, { turn: 3, attempt: 2, outcome: 'completed' }]);
    expect(await charged(runId, 'finish')).toMatchObject([{ state: 'unknown', paid: 1 }, { state: 'settled', paid: 1 }]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'turns_exhausted', report: expect.stringContaining('The report') as string });
    expect(played.model.calls).toHaveLength(1);
  });

  it('[Q-12] is not made again without money: the run ends for its own reason, with what it has', async () => {
    // the allowance takes three; what two turns leave of the rest does not pay another
    const { runId } = await world.newRun({ supervisorTurns: 2, budgetCredits: 5 });
    await died(restless, isFinish(2), runId);
    await survived(restless, runId);
    expect(played.model.calls).toEqual([]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'turns_exhausted', report: expect.stringContaining('its turns were used up') as string });
    expect(await charged(runId, 'finish')).toMatchObject([{ state: 'unknown', paid: 1 }]);
  });

  it('[Q-16] is begun at most three times', async () => {
    const { runId } = await world.newRun({ supervisorTurns: 2, budgetCredits: 1_000 });
    await died(restless, isFinish(2), runId);
    for (let death = 2; death <= ATTEMPTS_PER_TURN_MAX; death++) {
      await world.sql.change(`UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 MINUTE WHERE id = ?`, [runId]);
      await died(restless, () => true, runId);
    }
    await survived(restless, runId);
    expect(played.model.calls).toEqual([]);
    expect((await world.attempts(runId)).filter(({ outcome }) => outcome === 'lost')).toHaveLength(ATTEMPTS_PER_TURN_MAX);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'turns_exhausted' });
  });

  it('[Q-13] stays spent too when its run fails inside the engine instead', async () => {
    const { runId } = await world.newRun({ supervisorTurns: 2 });
    const journal: RunJournal = new Proxy(world.journal, {
      get: (target, name) => {
        const verb = (Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>).bind(target);
        const isRoot = ([fence]: unknown[]): boolean => (fence as { runId: RunId }).runId === runId;
        return name === 'endRun' ? (...given: unknown[]) => (isRoot(given) ? Promise.reject(new TypeError('a bug')) : verb(...given)) : verb;
      },
    });
    played = world.dependencies(restless, { journal });
    expect(await world.drive(played, runId)).toMatchObject([{ message: 'a bug' }]);
    const { lease_epoch: leaseEpoch, tenant_id: tenantId } = await world.run(runId);
    const incarnation = await world.one<string>(`SELECT value FROM meta WHERE name = 'incarnation'`);
    const error = { code: 'INTERNAL_ERROR', message: 'a bug' };
    await world.journal.endRun({ runId, rootRunId: runId, leaseEpoch, tenantId, incarnation } as never, null, { status: 'failed', stopReason: 'internal_error', error, limitsHit: [], report: null, citations: null, delegationResult: null, events: [{ type: 'run_status', status: 'failed', stop_reason: 'internal_error' }] });
    expect(await charged(runId, 'finish')).toMatchObject([{ state: 'unknown', paid: 1 }]);
  });

  it('[Q-13] costs nothing when it was never begun', async () => {
    const { runId } = await world.newRun();
    played = world.dependencies(story(['alpha']));
    await world.drive(played, runId);
    expect(await charged(runId, 'finish')).toMatchObject([{ state: 'settled', paid: 0 }]);
  });

  it('[Q-18] does not begin after a cancel', async () => {
    const { runId, tenantId } = await world.newRun({ supervisorTurns: 2 });
    const journal: RunJournal = new Proxy(world.journal, {
      get: (target, name) => {
        const verb = (Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>).bind(target);
        return name === 'beginFinish' ? async (...given: unknown[]) => ((await world.cancels.request(tenantId, runId)), verb(...given)) : verb;
      },
    });
    played = world.dependencies(restless, { journal });
    await world.drive(played, runId);
    expect(played.model.calls.filter(isFinishing)).toEqual([]);
    expect(await world.run(runId)).toMatchObject({ status: 'cancelled' });
    expect(await charged(runId, 'finish')).toMatchObject([{ state: 'settled', paid: 0 }]);
  });
});

describe('[Q-17] retries of a turn', () => {
  it('are counted by its failed attempts, in whichever process they failed', async () => {
    const { runId } = await world.newRun();
    const failing: InProcessScript = () => ({ error: busy });
    await died(failing, (calls) => calls === ATTEMPTS_PER_TURN_MAX, runId);
    expect(await world.attempts(runId)).toHaveLength(ATTEMPTS_PER_TURN_MAX - 1);
    await survived(failing, runId);
    expect(played.model.calls).toHaveLength(1);
    expect(await world.run(runId)).toMatchObject({ status: 'failed', stop_reason: 'provider_failed' });
    expect((await world.attempts(runId)).map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'lost', 'failed']);
  });

  it('[Q-16] are not used up by deaths: a lost attempt is no failure of the model', async () => {
    const { runId } = await world.newRun();
    for (let death = 1; death <= ATTEMPTS_PER_TURN_MAX + 1; death++) {
      await died(story(['alpha']), () => true, runId);
      await world.sql.change(`UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 MINUTE WHERE id = ?`, [runId]);
    }
    let failures = 0;
    await survived((call) => (call.role === 'supervisor' && failures++ < ATTEMPTS_PER_TURN_MAX - 1 ? { error: busy } : story(['alpha'])(call)), runId);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });

  it('begin anew with the next turn', async () => {
    const failed = new Set<string>();
    const onceEach: InProcessScript = (call) => {
      const key = `${call.role} ${call.step} ${call.task}`;
      if (failed.has(key)) return story(['alpha'])(call);
      failed.add(key);
      return { error: busy };
    };
    played = world.dependencies(onceEach, atOnce);
    const { runId } = await world.newRun();
    expect(await world.drive(played, runId)).toEqual([]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });

  it('[Q-18] do not begin after a cancel that came while they waited, heard of or not', async () => {
    const { runId, tenantId } = await world.newRun();
    played = world.dependencies(() => ({ error: busy }), { sleep: async () => void (await world.cancels.request(tenantId, runId)) });
    expect(await world.drive(played, runId)).toEqual([]);
    expect(played.model.calls).toHaveLength(1);
    expect(await world.run(runId)).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled' });
    expect(await charged(runId, 'model')).toMatchObject([{ paid: 0 }, { paid: 0 }]);
  });

  it('[Q-12] hold no money while they wait', async () => {
    const { runId } = await world.newRun();
    const reserved: unknown[] = [];
    const openModel = () => world.rows(`SELECT id FROM reservations WHERE run_id = ? AND operation = 'model' AND state = 'open'`, [runId]);
    played = world.dependencies(() => ({ error: busy }), { sleep: async () => void reserved.push(...(await openModel())) });
    await world.drive(played, runId);
    expect(played.model.calls).toHaveLength(ATTEMPTS_PER_TURN_MAX);
    expect(reserved).toEqual([]);
  });
});

describe('a provider that ignores its signal', () => {
  it.each([['RUN_CANCELLED', []], ['LEASE_LOST', [{ code: 'LEASE_LOST' }]]] as const)('[Q-18] [Q-03] is left when the run ends with %s', async (code, failures) => {
    played = world.dependencies(never);
    const { runId, tenantId } = await world.newRun();
    const abort = new AbortController();
    const driven = world.drive(played, runId, () => ({ abort: abort.signal }));
    await waitUntil(() => played.model.calls.length === 1, { what: 'the model call', intervalMs: 5 });
    if (code === 'RUN_CANCELLED') await world.cancels.request(tenantId, runId);
    abort.abort(new QuaestorError(code, 'The spec says so.'));
    expect(await driven).toMatchObject(failures);
    if (code === 'RUN_CANCELLED') expect(await world.run(runId)).toMatchObject({ status: 'cancelled' });
    else await survived(story(['alpha']), runId);
  });

  it('[Q-09] [L49] is left at the deadline and stays paid, and what it says later is not heard', async () => {
    let late: () => void = () => undefined;
    const spoken = new Promise<void>((resolve) => (late = resolve));
    played = world.dependencies(async (call) => {
      if (isFinishing(call)) return { text: 'The report.' };
      if (call.role === 'worker' || call.step === 0) return restless(call);
      await spoken;
      return { text: 'too late' };
    });
    // the provider of this spec checks its signal after the script; one that does not would deliver
    const deaf = { id: 'deaf', host: 'deaf', stream: (...[request, onChunk]: Parameters<LanguageModel['stream']>) => played.model.stream(request, onChunk, new AbortController().signal) };
    const { runId } = await world.newRun({ deadlineSeconds: 1 });
    expect(await world.drive({ ...played, deps: { ...played.deps, models: sameModelForAll({ ...played.deps.models.supervisor[0], model: deaf }) } }, runId)).toEqual([]);
    late();
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'deadline_reached', report: expect.stringContaining('The report.') as string });
    expect(await world.attempts(runId)).toMatchObject([{ outcome: 'completed' }, { outcome: 'failed', error_code: 'MODEL_TIMEOUT' }, { outcome: 'completed' }]);
    expect(await charged(runId, 'model')).toEqual([{ state: 'settled', paid: 1 }, { state: 'settled', paid: 1 }]);
    expect(await world.rows(`SELECT 1 FROM messages WHERE run_id = ? AND content LIKE '%too late%'`, [runId])).toEqual([]);
  });
});
