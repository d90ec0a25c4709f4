import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { QuaestorError } from '#contracts';
import { LeaseRepository, RunJournalRepository } from '#database';
import type { RunJournal } from '#domain';
import { metricsRegistry } from '#platform';
import { AgentWorld, figure, pageAddress, risesOf, waitUntil, type InProcessScript } from '#testing';
import { RunAdvancer } from './advance-run.ts';
import { runtimeConfig } from './config.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { agentMetrics } from './run-metrics.ts';
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
  keeper = new LeaseKeeper({ leases, intervalMs: 20, ttlMs: TTL_MS, onError: () => undefined });
  journal = new RunJournalRepository(world.sql, { owner: runtime.owner, leaseTtlMs: TTL_MS, randomBytes: () => randomBytes(17) });
});
afterAll(async () => {
  await keeper.close();
  await runtime.close();
  await world.close();
});

const usage = { inputTokens: 100, outputTokens: 7, estimated: false };
const delegation = { name: 'delegate_research_task', arguments: { task: 'task alpha' } };
const script: InProcessScript = (call) => {
  if (call.role === 'supervisor') return call.step === 0 ? { calls: [delegation], usage } : { text: `A lease ends [page](${pageAddress('alpha')}).`, usage };
  if (call.step > 0) return { text: 'done', usage };
  return { calls: [{ name: 'read_web_page', arguments: { url: pageAddress('alpha') } }, { name: 'read_web_page', arguments: { url: 'https://elsewhere.test/' } }], usage };
};

function advancerOf(played: InProcessScript, ofJournal: RunJournal = journal) {
  const parts = world.dependencies(played, { journal: ofJournal, observer: agentMetrics });
  return { ...parts, advancer: new RunAdvancer(runtime, parts.deps, keeper) };
}

const settlingFails = (error: Error): RunJournal =>
  new Proxy(journal, { get: (target, name) => (name === 'settleTurn' ? () => Promise.reject(error) : (Reflect.get(target, name) as (...given: unknown[]) => unknown).bind(target)) });

it('a whole run is counted: its ends, its exits, its calls and what they took', async () => {
  const { advancer, jobs } = advancerOf(script);
  const { runId } = await world.newRun();
  const series = [
    'run_exits_total{role="supervisor",exit="parked"}',
    'run_exits_total{role="supervisor",exit="ended"}',
    'run_exits_total{role="worker",exit="ended"}',
    'runs_ended_total{role="supervisor",stop_reason="answered"}',
    'runs_ended_total{role="worker",stop_reason="answered"}',
    'model_attempts_total{role="supervisor",outcome="completed"}',
    'model_attempts_total{role="worker",outcome="completed"}',
    'model_tokens_total{kind="input"}',
    'model_tokens_total{kind="output"}',
    'model_call_seconds_count',
    'tool_calls_total{activity="read",outcome="ok"}',
    'tool_calls_total{activity="read",outcome="error"}',
    'tool_call_seconds_count{activity="read"}',
  ] as const;
  const rises = await risesOf(series, async () => {
    await advancer.advance(runId, never);
    await advancer.advance(await world.workerOf(jobs.splice(0)[0]!.payload['toolCallId'] as never), never);
    await advancer.advance(runId, never);
  });
  expect(Object.values(rises)).toEqual([1, 1, 1, 1, 1, 2, 2, 400, 28, 4, 1, 1, 2]);
});

it('a job for a run that needs nothing counts nothing', async () => {
  const { advancer } = advancerOf(script);
  const { runId } = await world.newRun();
  await advancer.advance(runId, never);
  const before = await metricsRegistry.metrics();
  await advancer.advance(runId, never);
  expect(await metricsRegistry.metrics()).toBe(before);
});

describe('a run is let go', () => {
  const EXITS: [string, Error, number][] = [
    ['lost', new QuaestorError('LEASE_LOST', 'Another process has it.'), 0],
    ['lost', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 0],
    ['failed', new TypeError('a bug'), 1],
  ];
  it.each(EXITS)('as %s after %s', async (exit, error, ends) => {
    const { runId } = await world.newRun();
    const series = [`run_exits_total{role="supervisor",exit="${exit}"}`, 'runs_ended_total{role="supervisor",stop_reason="internal_error"}'];
    const rises = await risesOf(series, () => advancerOf(script, settlingFails(error)).advancer.advance(runId, never));
    expect(Object.values(rises)).toEqual([1, ends]);
  });

  it('as released when the process drains', async () => {
    const { runId } = await world.newRun();
    const series = ['run_exits_total{role="supervisor",exit="released"}'] as const;
    expect(Object.values(await risesOf(series, () => advancerOf(script).advancer.advance(runId, AbortSignal.abort())))).toEqual([1]);
  });
});

it('a call that the provider surely did not take has an outcome and no tokens', async () => {
  const refused = new QuaestorError('MODEL_UNAUTHORIZED', 'The key is wrong.', { details: { accepted: false } });
  const { runId } = await world.newRun();
  const series = ['model_attempts_total{role="supervisor",outcome="failed"}', 'model_tokens_total{kind="input"}', 'runs_ended_total{role="supervisor",stop_reason="provider_failed"}'] as const;
  expect(Object.values(await risesOf(series, () => advancerOf(() => ({ error: refused })).advancer.advance(runId, never)))).toEqual([1, 0, 1]);
});

it('a held run is counted while it is held, and its lost lease', async () => {
  const { advancer, model } = advancerOf(() => ({ text: 'half', hangs: true }));
  const { runId } = await world.newRun();
  const series = ['leases_lost_total', 'run_exits_total{role="supervisor",exit="lost"}'] as const;
  const rises = await risesOf(series, async () => {
    const advanced = advancer.advance(runId, never);
    await waitUntil(() => model.calls.length === 1, { what: 'the model call', intervalMs: 5 });
    expect(await figure('runs_held')).toBe(1);
    await world.sql.change(`UPDATE runs SET lease_owner = 'another', lease_epoch = lease_epoch + 1 WHERE id = ?`, [runId]);
    await advanced;
  });
  expect(Object.values(rises)).toEqual([1, 1]);
  expect(await figure('runs_held')).toBe(0);
});

it('a lost lease is counted once, however often it is noticed before the run is let go', async () => {
  const { runId } = await world.newRun();
  const claimed = (await journal.claim(runId, () => []))!;
  const beats = vi.spyOn(leases, 'heartbeat');
  const rises = await risesOf(['leases_lost_total'], async () => {
    keeper.hold(claimed);
    await world.sql.change(`UPDATE runs SET lease_owner = 'another', lease_epoch = lease_epoch + 1 WHERE id = ?`, [runId]);
    await waitUntil(() => beats.mock.calls.length >= 4, { what: 'some beats', intervalMs: 5 });
  });
  keeper.drop(claimed.fence);
  expect(rises['leases_lost_total']).toBe(1);
});

it('what no list names is counted as other', async () => {
  agentMetrics.attemptSettled({ role: 'user input' as never, outcome: 'x\n' as never, inputTokens: 0, outputTokens: 0, durationMs: 0 });
  agentMetrics.toolSettled({ activity: '{' as never, outcome: '' as never, durationMs: 0 });
  expect(await figure('model_attempts_total{role="other",outcome="other"}')).toBe(1);
  expect(await figure('tool_calls_total{activity="other",outcome="other"}')).toBe(1);
});
