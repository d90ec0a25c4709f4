import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { QuaestorError, type RunId } from '#contracts';
import { LeaseRepository, RunJournalRepository } from '#database';
import type { RunJournal } from '#domain';
import { AgentWorld, pageAddress, waitUntil, type InProcessScript, type PlayedDependencies } from '#testing';
import { RunAdvancer } from './advance-run.ts';
import { runtimeConfig } from './config.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { Runtime } from './runtime.ts';

const TTL_MS = 20_000;
const never = new AbortController().signal;

let world: AgentWorld;
let runtime: Runtime;
let keeper: LeaseKeeper;
let leases: LeaseRepository;
let journal: RunJournal;

beforeAll(async () => {
  world = await AgentWorld.open();
  const { url, redisUrl } = world.database;
  runtime = await Runtime.open('spec', runtimeConfig.parse({ DATABASE_URL: url, REDIS_URL: redisUrl, LOG_LEVEL: 'silent' }));
  leases = new LeaseRepository(world.sql, { owner: runtime.owner, leaseTtlMs: TTL_MS });
  journal = new RunJournalRepository(world.sql, { owner: runtime.owner, leaseTtlMs: TTL_MS, randomBytes: () => randomBytes(17) });
});
beforeEach(() => {
  keeper = new LeaseKeeper({ leases, intervalMs: 20, ttlMs: TTL_MS, onError: () => undefined });
});
afterEach(() => keeper.close());
afterAll(async () => {
  await runtime.close();
  await world.close();
});

const delegation = { name: 'delegate_research_task', arguments: { task: 'task alpha' } };
const script: InProcessScript = (call) => {
  if (call.role === 'worker') return call.step === 0 ? { calls: [{ name: 'read_web_page', arguments: { url: pageAddress('alpha') } }] } : { text: 'done' };
  return call.step === 0 ? { calls: [delegation] } : { text: `A lease ends [page](${pageAddress('alpha')}).` };
};

/** The journal, with one verb that fails. */
const failing = (verb: keyof RunJournal, error: Error, isMet: () => boolean = () => true): RunJournal =>
  new Proxy(journal, {
    get: (target, name) => (name === verb && isMet() ? () => Promise.reject(error) : (Reflect.get(target, name) as (...given: unknown[]) => unknown).bind(target)),
  });

function advancerOf(broken: RunJournal, played: InProcessScript = script): PlayedDependencies & { advancer: RunAdvancer } {
  const parts = world.dependencies(played, { journal: broken });
  return { ...parts, advancer: new RunAdvancer(runtime, parts.deps, keeper) };
}

/** A run that this process keeps meanwhile, so that its heartbeat never stops. */
async function keepAnother(): Promise<void> {
  const { runId } = await world.newRun();
  const claimed = (await journal.claim(runId, () => []))!;
  keeper.hold(claimed);
  await waitUntil(() => world.one('SELECT COUNT(*) > 0 FROM lease_owners WHERE owner = ? HAVING COUNT(*) > 0', [runtime.owner]), { what: 'a heartbeat', intervalMs: 5 });
}

const ofDriver = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

describe('[Q-15] a failure of the stores leaves the run as it is, for another claim', () => {
  const FAILURES: [string, Error][] = [
    ['a broken connection', ofDriver('read ECONNRESET', { code: 'ECONNRESET', errno: -104, fatal: true })],
    ['an answer of the server', ofDriver('Lock wait timeout exceeded', { code: 'ER_LOCK_WAIT_TIMEOUT', errno: 1205, sqlState: 'HY000' })],
    ['a connection that was closed already', ofDriver('Can\'t add new command when connection is in closed state', { fatal: true })],
    ['a lease that ran out while the database was away', new QuaestorError('LEASE_LOST', 'The database could not be reached for longer than the lease.')],
  ];
  it.each(FAILURES)('%s', async (_what, error) => {
    await keepAnother();
    const { runId } = await world.newRun();
    await advancerOf(failing('settleTurn', error)).advancer.advance(runId, never);
    expect(await world.run(runId)).toMatchObject({ status: 'running', stop_reason: null, ended_at: null });
    const other = world.dependencies(script);
    expect(await world.drive(other, runId)).toEqual([]);
    expect(await world.run(runId)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
    expect(keeper.size).toBe(1);
  });
});

it('[Q-15] a claim that was committed without anyone hearing of it lapses although the process lives on', async () => {
  await keepAnother();
  const { runId } = await world.newRun();
  const deaf: RunJournal = new Proxy(journal, {
    get: (target, name) =>
      name === 'claim'
        ? async (...given: Parameters<RunJournal['claim']>) => {
            await target.claim(...given);
            throw ofDriver('Connection lost: The server closed the connection.', { code: 'PROTOCOL_CONNECTION_LOST', fatal: true });
          }
        : (Reflect.get(target, name) as (...given: unknown[]) => unknown).bind(target),
  });
  await advancerOf(deaf).advancer.advance(runId, never);
  expect(await world.drive(world.dependencies(script), runId)).toEqual([]);
  expect(await world.run(runId)).toMatchObject({ status: 'completed', stop_reason: 'answered' });
  expect(keeper.size).toBe(1);
});

describe('[Q-08] an unexpected failure ends the run as internal_error', () => {
  const FAILURES: [string, Error][] = [
    ['a bug', new TypeError('x is not a function')],
    ['a bug that Node itself reports, with a code', ofDriver('The "data" argument must be of type string', { code: 'ERR_INVALID_ARG_TYPE' })],
    ['a value that does not fit its column', ofDriver("Data too long for column 'provider_call_id'", { code: 'ER_DATA_TOO_LONG', errno: 1406, sqlState: '22001' })],
    ['a broken conversation', new QuaestorError('JOURNAL_INVALID', 'The stored conversation is broken.')],
  ];
  it.each(FAILURES)('%s in a root run', async (_what, error) => {
    const { runId } = await world.newRun();
    await advancerOf(failing('settleTurn', error)).advancer.advance(runId, never);
    expect(await world.run(runId)).toMatchObject({ status: 'failed', stop_reason: 'internal_error', lease_owner: null });
    expect((await world.run(runId))['last_error_message']).not.toContain('is not a function');
    expect(keeper.size).toBe(0);
  });

  it('[Q-01] [Q-05] of a worker, whose delegation ends with it and wakes its parent', async () => {
    const { runId } = await world.newRun();
    const healthy = advancerOf(journal);
    await healthy.advancer.advance(runId, never);
    const [job] = healthy.jobs.splice(0);
    const workerId = await world.workerOf(job!.payload['toolCallId'] as never);
    const broken = advancerOf(failing('closeTurn', new TypeError('secret inside')));
    await broken.advancer.advance(workerId, never);
    expect(await world.run(workerId)).toMatchObject({ status: 'failed', stop_reason: 'internal_error' });
    const [call] = await world.calls(runId);
    expect(JSON.parse(call!['result'] as string)).toMatchObject({ kind: 'error', code: 'DELEGATION_FAILED', message: expect.not.stringContaining('secret') as string });
    expect(broken.jobs).toMatchObject([{ queue: 'runs', payload: { runId } }]);
    await healthy.advancer.advance(runId, never);
    expect(await world.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'insufficient_evidence' });
  });

  it('that cannot be stored either leaves the run to another claim', async () => {
    await keepAnother();
    const { runId } = await world.newRun();
    const both = new Proxy(failing('settleTurn', new TypeError('first')), {
      get: (target, name) => (name === 'endRun' ? () => Promise.reject(ofDriver('gone', { code: 'ECONNRESET' })) : (Reflect.get(target, name) as unknown)),
    });
    await advancerOf(both).advancer.advance(runId, never);
    expect(await world.run(runId)).toMatchObject({ status: 'running' });
    expect(await world.drive(world.dependencies(script), runId)).toEqual([]);
    expect(await world.run(runId)).toMatchObject({ stop_reason: 'answered' });
  });
});

it('[Q-32] a second job for a run that is held here does nothing, and its hold stays', async () => {
  let answer: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (answer = resolve));
  const { advancer, model } = advancerOf(journal, async (call) => {
    await asked;
    return { text: `Nothing cited: ${call.task}` };
  });
  const { runId } = await world.newRun();
  const first = advancer.advance(runId, never);
  await waitUntil(() => model.calls.length === 1, { what: 'the model call', intervalMs: 5 });
  await advancer.advance(runId, never);
  expect(keeper.size).toBe(1);
  answer();
  await first;
  expect(keeper.size).toBe(0);
  expect(await world.run(runId)).toMatchObject({ stop_reason: 'insufficient_evidence' });
  expect(model.calls).toHaveLength(1);
});

it('[Q-18] a cancel reaches a model call through the heartbeat', async () => {
  const { advancer, model } = advancerOf(journal, () => ({ text: 'half', hangs: true }));
  const { runId, tenantId } = await world.newRun();
  const advanced = advancer.advance(runId as RunId, never);
  await waitUntil(() => model.calls.length === 1, { what: 'the model call', intervalMs: 5 });
  const startedMs = performance.now();
  await world.cancels.request(tenantId, runId);
  await advanced;
  expect(performance.now() - startedMs).toBeLessThan(2_000);
  expect(await world.run(runId)).toMatchObject({ status: 'cancelled' });
});
