import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type ErrorCode } from '#contracts';
import { vendorOf, type LanguageModel, type ModelChoice, type ModelRoster } from '#domain';
import { AgentWorld, type PlayedDependencies } from '#testing';
import { delegate, isFinishing, note, plan } from './spec-support/scripts.ts';

let world: AgentWorld;

beforeAll(async () => {
  world = await AgentWorld.open();
});
afterAll(() => world.close());
afterEach(async () => expect(await world.brokenPromises()).toEqual([]));

/** A model that fails always, and counts. */
class FailingModel implements LanguageModel {
  readonly id: string;
  readonly host = 'failing.example';
  calls = 0;
  readonly #code: ErrorCode;

  constructor(code: ErrorCode, id = 'failing') {
    this.id = id;
    this.#code = code;
  }

  stream(): Promise<void> {
    this.calls++;
    return Promise.reject(new QuaestorError(this.#code, 'The first model failed.', { details: { accepted: false } }));
  }
}

const PRICE = { inputMicrocreditsPer1000: 1, outputMicrocreditsPer1000: 1 };

/** The played model stands behind one that always fails. */
function behind(played: PlayedDependencies, failing: LanguageModel): PlayedDependencies {
  const first: ModelChoice = { model: failing, modelName: 'first', price: PRICE, maxOutputTokens: 500 };
  const second: ModelChoice = { ...played.deps.models.supervisor[0], modelName: 'second' };
  const models: ModelRoster = { supervisor: [first, second], worker: [first, second], synthesis: [first, second] };
  return { ...played, deps: { ...played.deps, models, sleep: () => Promise.resolve() } };
}

describe('a model that fails for good', () => {
  it.each([
    ['MODEL_UNAUTHORIZED', 1],
    ['MODEL_QUOTA_EXHAUSTED', 1],
    ['MODEL_NOT_FOUND', 1],
    ['MODEL_OVERLOADED', 3],
  ] as const)('[L51] is followed by its fallback: %s after %i attempts, with the reason on record', async (code, tries) => {
    const failing = new FailingModel(code);
    const played = world.dependencies((call) => (call.step === 0 ? { text: 'First.', reasoning: 'why', calls: [plan('one')] } : { text: 'Nothing was found.' }));
    const { runId } = await world.newRun();
    expect(await world.drive(behind(played, failing), runId)).toEqual([]);
    expect(failing.calls).toBe(tries);
    const attempts = await world.rows('SELECT model, outcome, fallback_reason FROM attempts WHERE run_id = ? ORDER BY turn, attempt', [runId]);
    expect(attempts).toEqual([
      ...Array.from({ length: tries }, () => ({ model: 'first', outcome: 'failed', fallback_reason: null })),
      { model: 'second', outcome: 'completed', fallback_reason: code },
      { model: 'second', outcome: 'completed', fallback_reason: code },
    ]);
    const events = await world.rows("SELECT body FROM run_events WHERE root_run_id = ? AND type = 'settlement' ORDER BY seq", [runId]);
    expect(events.map(({ body }) => (JSON.parse(String(body)) as { fallback_reason?: string }).fallback_reason).filter((reason) => reason !== undefined)).toEqual([code, code]);
    expect((await world.replay(await world.record(runId))).difference).toBeNull();
    expect(await world.rows("SELECT DISTINCT vendor FROM messages WHERE run_id = ? AND role = 'assistant'", [runId])).toEqual([{ vendor: vendorOf(played.model, 'second') }]);
  });

  it('[L51] is not asked for the report either, and another one that fails there is followed too', async () => {
    const played = world.dependencies((call) => {
      if (isFinishing(call)) return { text: 'The report.' };
      if (call.role === 'worker') return call.step === 0 ? { calls: [note('A finding.')] } : { text: 'done' };
      return { calls: [call.step === 0 ? delegate('task alpha') : plan('the same plan')] };
    });
    const [dead, other] = [new FailingModel('MODEL_UNAUTHORIZED'), new FailingModel('MODEL_OVERLOADED', 'other')];
    const first: ModelChoice = { model: dead, modelName: 'first', price: PRICE, maxOutputTokens: 500 };
    const good = { ...played.deps.models.supervisor[0], modelName: 'good' };
    const models: ModelRoster = { supervisor: [first, good], worker: [good], synthesis: [first, { ...first, model: other, modelName: 'other' }, good] };
    const { runId } = await world.newRun();
    expect(await world.drive({ ...played, deps: { ...played.deps, models } }, runId)).toEqual([]);
    // a claim after the wait for the worker asks the first one once more
    expect([dead.calls, other.calls]).toEqual([2, 1]);
    const attempts = await world.rows('SELECT model, finishing, error_code, fallback_reason FROM attempts WHERE run_id = ? ORDER BY turn, attempt', [runId]);
    expect(attempts[0]).toEqual({ model: 'first', finishing: 0, error_code: 'MODEL_UNAUTHORIZED', fallback_reason: null });
    expect(attempts.slice(-3)).toEqual([
      { model: 'good', finishing: 0, error_code: null, fallback_reason: 'MODEL_UNAUTHORIZED' },
      { model: 'other', finishing: 1, error_code: 'MODEL_OVERLOADED', fallback_reason: 'MODEL_UNAUTHORIZED' },
      { model: 'good', finishing: 1, error_code: null, fallback_reason: 'MODEL_OVERLOADED' },
    ]);
    expect(await world.run(runId)).toMatchObject({ status: 'incomplete', stop_reason: 'loop_detected', report: expect.stringContaining('The report.') as string });
    expect((await world.replay(await world.record(runId))).difference).toBeNull();
  });

  it('[L51] ends the run when the last fallback fails, naming the reason', async () => {
    const failing = new FailingModel('MODEL_UNAUTHORIZED');
    const played = world.dependencies(() => ({ text: 'never' }));
    const both = behind(played, failing);
    const [first] = both.deps.models.supervisor;
    const { runId } = await world.newRun();
    expect(await world.drive({ ...both, deps: { ...both.deps, models: { ...both.deps.models, supervisor: [first, { ...first, modelName: 'other' }] } } }, runId)).toEqual([]);
    expect(failing.calls).toBe(2);
    expect(await world.run(runId)).toMatchObject({ status: 'failed', stop_reason: 'provider_failed', last_error_code: 'MODEL_UNAUTHORIZED' });
  });
});
