import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type RunId, type TenantId } from '#contracts';
import type { ClaimedRun, RunJournal } from '#domain';
import { aborted, AgentWorld, waitUntil, type InProcessScript, type PlayedDependencies } from '#testing';
import { delegate, diligentWorker, link, plan, read, search, story } from './spec-support/scripts.ts';

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

/** What a heartbeat does for the runs of one process, by hand. */
class Holds {
  readonly #held = new Map<RunId, AbortController>();

  signals = ({ fence }: ClaimedRun): { abort: AbortSignal } => {
    const controller = new AbortController();
    this.#held.set(fence.runId, controller);
    return { abort: controller.signal };
  };

  abort(code: 'RUN_CANCELLED' | 'LEASE_LOST'): void {
    for (const controller of this.#held.values()) controller.abort(new QuaestorError(code, 'The spec says so.'));
  }
}

/** Cancels as the gateway does, and as the next heartbeat would tell. */
async function cancel(holds: Holds, { runId, tenantId }: { runId: RunId; tenantId: TenantId }): Promise<void> {
  expect(await world.cancels.request(tenantId, runId)).toBe(true);
  await world.cancels.endIdleRuns(runId);
  holds.abort('RUN_CANCELLED');
}

async function expectCancelled(runId: RunId): Promise<void> {
  const runs = await world.rows('SELECT status, stop_reason, report FROM runs WHERE root_run_id = ?', [runId]);
  expect(runs.map(({ status, stop_reason: reason }) => [status, reason])).toEqual(runs.map(() => ['cancelled', 'cancelled']));
  expect(await world.rows(`SELECT id FROM tool_calls WHERE root_run_id = ? AND (status = 'open' OR result IS NULL)`, [runId])).toEqual([]);
  expect(await world.rows(`SELECT id FROM reservations WHERE root_run_id = ? AND state = 'open'`, [runId])).toEqual([]);
  const ends = await world.rows(`SELECT seq FROM run_events WHERE root_run_id = ? AND type = 'run_status' AND body LIKE '%cancelled%'`, [runId]);
  expect(ends).toHaveLength(1);
}

describe('[Q-18] [B37] a cancel ends the tree once', () => {
  const hanging: InProcessScript = story(['alpha'], { worker: () => ({ text: 'I am just about to say TAINT', hangs: true }) });
  const CASES: [string, InProcessScript, (what: string, signal: AbortSignal) => Promise<void> | void, () => boolean][] = [
    ['in the middle of a worker\'s model call', hanging, () => undefined, () => played.model.calls.length === 2],
    ['in the middle of the supervisor\'s model call', () => ({ text: 'half a thought', hangs: true }), () => undefined, () => played.model.calls.length === 1],
    ['in the middle of a tool call', story(['alpha']), (_what, signal) => aborted(signal), () => played.web.searches.length === 1],
    ['in the middle of a tool call that ignores its signal', story(['alpha']), () => new Promise<void>(() => undefined), () => played.web.searches.length === 1],
    ['beside a call that has ended', story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [search('x'), read('slow')] } : { text: 'no' }) }), (what, signal) => (what === 'x' ? undefined : aborted(signal)), () => played.web.reads.length === 1],
  ];
  it.each(CASES)('%s, within 2 s', async (_where, script, before, reached) => {
    played = world.dependencies(script);
    played.web.before = before;
    const run = await world.newRun();
    const holds = new Holds();
    const driven = world.drive(played, run.runId, holds.signals);
    await waitUntil(reached, { what: 'the middle', intervalMs: 5 });
    const callsBefore = played.model.calls.length;
    const startedMs = performance.now();
    await cancel(holds, run);
    expect(await driven).toEqual([]);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    await expectCancelled(run.runId);
    expect(played.model.calls).toHaveLength(callsBefore);
    expect(await world.rows(`SELECT 1 FROM messages WHERE content LIKE '%TAINT%' OR content LIKE '%half a thought%'`)).toEqual([]);
  });

  it('while it is queued, before anything was paid', async () => {
    played = world.dependencies(story(['alpha']));
    const run = await world.newRun();
    await cancel(new Holds(), run);
    await world.drive(played, run.runId);
    await expectCancelled(run.runId);
    expect(played.model.calls).toEqual([]);
  });

  it('while it is parked and its workers are queued', async () => {
    played = world.dependencies(story(['alpha', 'beta']));
    const run = await world.newRun();
    expect(await world.advance(played, run.runId)).toBe('parked');
    await cancel(new Holds(), run);
    await world.drive(played, run.runId);
    await expectCancelled(run.runId);
    expect(played.model.calls).toHaveLength(1);
  });

  it('while it waits for its next try', async () => {
    played = world.dependencies(() => ({ error: new QuaestorError('MODEL_OVERLOADED', 'busy', { retryAfterMs: 20_000, details: { accepted: false } }) }));
    const run = await world.newRun();
    const holds = new Holds();
    const driven = world.drive(played, run.runId, holds.signals);
    await waitUntil(async () => (await world.attempts(run.runId)).length === 1, { what: 'the failed attempt', intervalMs: 5 });
    await cancel(holds, run);
    expect(await driven).toEqual([]);
    await expectCancelled(run.runId);
  });

  it('while the report is written, and again: findings are kept', async () => {
    played = world.dependencies(story(['alpha'], { supervisor: (call) => (call.step === 0 ? { calls: [delegate('task alpha')] } : { text: 'half a report', hangs: true }) }));
    const run = await world.newRun();
    const holds = new Holds();
    const driven = world.drive(played, run.runId, holds.signals);
    await waitUntil(() => played.model.calls.filter(({ role }) => role === 'supervisor').length === 2, { what: 'the report', intervalMs: 5 });
    await cancel(holds, run);
    await world.cancels.request(run.tenantId, run.runId);
    expect(await driven).toEqual([]);
    expect(await world.rows(`SELECT DISTINCT status FROM runs WHERE root_run_id = ? AND role = 'supervisor'`, [run.runId])).toEqual([{ status: 'cancelled' }]);
    expect(await world.rows(`SELECT id FROM reservations WHERE root_run_id = ? AND state = 'open'`, [run.runId])).toEqual([]);
    expect(await world.rows(`SELECT kind FROM scratchpad_entries WHERE thread_id = ?`, [(await world.run(run.runId))['scratchpad_thread_id'] as string])).toEqual([{ kind: 'finding' }]);
    const ends = await world.rows(`SELECT body FROM run_events WHERE root_run_id = ? AND type = 'run_status' AND body LIKE '%cancelled%'`, [run.runId]);
    expect(ends).toHaveLength(1);
  });

  it('at the moment of its completion, once and one way', async () => {
    const holds = new Holds();
    played = world.dependencies(story(['alpha'], {
      supervisor: (call) => {
        if (call.step === 0) return { calls: [delegate('task alpha')] };
        void cancelling.push(world.cancels.request(run.tenantId, run.runId));
        return { text: 'A lease ends.' };
      },
    }));
    const cancelling: Promise<boolean>[] = [];
    const run = await world.newRun();
    expect(await world.drive(played, run.runId, holds.signals)).toEqual([]);
    await Promise.all(cancelling);
    const { status, stop_reason: reason } = await world.run(run.runId);
    expect(['cancelled cancelled', 'incomplete insufficient_evidence']).toContain(`${String(status)} ${String(reason)}`);
    expect(await world.rows(`SELECT id FROM reservations WHERE root_run_id = ? AND state = 'open'`, [run.runId])).toEqual([]);
    const ends = await world.rows(`SELECT body FROM run_events WHERE root_run_id = ? AND type = 'run_status'`, [run.runId]);
    expect(ends.filter(({ body }) => /cancelled|incomplete|completed/.test(String(body)))).toHaveLength(1);
  });

  it('learned from a commit, before any heartbeat', async () => {
    const script: InProcessScript = async (call) => {
      await world.cancels.request(run.tenantId, run.runId);
      return { calls: [plan(call.task)] };
    };
    played = world.dependencies(script);
    const run = await world.newRun();
    expect(await world.drive(played, run.runId)).toEqual([]);
    await expectCancelled(run.runId);
    expect(played.model.calls).toHaveLength(1);
  });

  it('[Q-05] keeps what people may still see of the answer, and shows it to no model', async () => {
    played = world.dependencies(() => ({ text: 'half a thought', hangs: true }));
    const run = await world.newRun();
    const holds = new Holds();
    const driven = world.drive(played, run.runId, holds.signals);
    await waitUntil(() => played.model.calls.length === 1, { what: 'the call', intervalMs: 5 });
    await waitUntil(() => new Promise((resolve) => setImmediate(() => resolve(true))), { what: 'its text' });
    await cancel(holds, run);
    await driven;
    expect(await world.attempts(run.runId)).toMatchObject([{ kind: 'message', outcome: 'interrupted' }]);
  });
});

describe('[Q-03] a lost lease', () => {
  it.each(['a model call', 'a tool call', 'a tool call that ignores its signal'])('ends the loop in %s with LEASE_LOST and no further write', async (where) => {
    played = world.dependencies(where === 'a model call' ? () => ({ hangs: true }) : story(['alpha']));
    played.web.before = (_what, signal) => (where === 'a tool call' ? aborted(signal) : new Promise<void>(() => undefined));
    const { runId } = await world.newRun();
    const holds = new Holds();
    const driven = world.drive(played, runId, holds.signals);
    await waitUntil(() => (where === 'a model call' ? played.model.calls.length === 1 : played.web.searches.length === 1), { what: 'the middle', intervalMs: 5 });
    const before = await fingerprint(runId);
    holds.abort('LEASE_LOST');
    expect(await driven).toMatchObject([{ code: 'LEASE_LOST' }]);
    expect(await fingerprint(runId)).toEqual(before);
    // the oracles want runs that someone finishes
    played = world.dependencies(story(['alpha']));
    await world.recover(played, runId);
  });

  it('while another call of the turn is settled early is no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', listen);
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let refused = false;
    const base = world.journal;
    const journal: RunJournal = withClosing(base, async (fence, closing) => {
      if (closing.close === null && closing.settled.length > 0) {
        refused = true;
        throw new QuaestorError('LEASE_LOST', 'Another process holds the run.');
      }
      return base.closeTurn(fence, closing);
    });
    played = world.dependencies(story(['alpha'], { worker: (call) => (call.step === 0 ? { calls: [search('quick'), read('slow')] } : { text: 'no' }) }), { journal });
    played.web.before = (what) => (what === 'quick' ? undefined : gate);
    const { runId } = await world.newRun();
    const driven = world.drive(played, runId);
    await waitUntil(() => refused, { what: 'the early settlement', intervalMs: 5 });
    await waitUntil(() => new Promise((resolve) => setTimeout(() => resolve(true), 20)), { what: 'a turn of the event loop' });
    open();
    expect(await driven).toMatchObject([{ code: 'LEASE_LOST' }]);
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
    played = world.dependencies(story(['alpha'], { supervisor: (call) => (call.step === 0 ? { calls: [delegate('task alpha')] } : { text: `Done ${link('slow')}.` }), worker: diligentWorker }));
    await world.recover(played, runId);
  });
});

const withClosing = (journal: RunJournal, closeTurn: RunJournal['closeTurn']): RunJournal =>
  new Proxy(journal, { get: (target, name) => (name === 'closeTurn' ? closeTurn : (Reflect.get(target, name) as (...given: unknown[]) => unknown).bind(target)) });

/** Everything the loop could write of a run. */
async function fingerprint(runId: RunId): Promise<unknown> {
  const tables = { attempts: 'id', tool_calls: 'status', reservations: 'state', run_events: 'seq' };
  const parts: unknown[] = [await world.rows('SELECT id, status, turn, lease_epoch FROM runs WHERE root_run_id = ?', [runId])];
  for (const [table, column] of Object.entries(tables)) parts.push(await world.rows(`SELECT ${column} FROM ${table} WHERE root_run_id = ?`, [runId]));
  return parts;
}
