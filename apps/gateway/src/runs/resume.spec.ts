import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CheckpointView, RunView, SpendView, type RunId } from '#contracts';
import { endRun, FOREIGN_KEY, startTestGateway, type TestGateway } from '../spec-support/test-gateway.ts';

let test: TestGateway;
beforeAll(async () => {
  test = await startTestGateway();
});
afterAll(() => test.stop());

const resume = (runId: RunId, body: object) => test.request('POST', `/v1/runs/${runId}/resume`, { body });
const viewOf = async (response: Response): Promise<RunView> => RunView.parse(await response.json());

async function stoppedRun(stopReason = 'deadline_reached'): Promise<RunId> {
  const runId = await test.createRun('Stopped?');
  await endRun(test, runId);
  await test.sql.change(`UPDATE runs SET status = 'incomplete', stop_reason = ? WHERE id = ?`, [stopReason, runId]);
  await test.sql.change('UPDATE budgets SET spent_microcredits = 40000000 WHERE root_run_id = ?', [runId]);
  return runId;
}

describe('POST /v1/runs/{id}/resume', () => {
  it('[Q-25] makes one successor for 64 callers, with what was left and what was added', async () => {
    const runId = await stoppedRun();
    const responses = await Promise.all(Array.from({ length: 64 }, () => resume(runId, { credits: 25, seconds: 60 })));
    expect(responses.map(({ status }) => status)).toEqual(Array(64).fill(202));
    const views = await Promise.all(responses.map(viewOf));
    expect(new Set(views.map(({ id }) => id)).size).toBe(1);
    expect(views[0]).toMatchObject({ status: 'queued', question: 'Stopped?', resumed_from: runId, resumed_by: null, budget: { limit: 125, spent: 40, left: 85 } });
    expect(Date.parse(views[0]!.deadline_at) - Date.parse(views[0]!.created_at)).toBe(60_000);
    expect(await viewOf(await test.request('GET', `/v1/runs/${runId}`))).toMatchObject({ status: 'incomplete', resumed_by: views[0]!.id });
  });

  it('says what is missing', async () => {
    const answer = async (runId: RunId, body: object) => {
      const response = await resume(runId, body);
      const { error } = (await response.json()) as { error: { code: string; param: string | null } };
      return [response.status, error.code, error.param];
    };
    expect(await answer(await stoppedRun('budget_exhausted'), { seconds: 5 })).toEqual([400, 'INVALID_REQUEST', 'credits']);
    expect(await answer(await test.createRun(), { credits: 1 })).toEqual([409, 'RUN_NOT_RESUMABLE', null]);
    expect(await answer(await stoppedRun(), { credits: -1 })).toEqual([400, 'INVALID_REQUEST', 'credits']);
    expect((await answer(await stoppedRun(), { money: 1 }))[0]).toBe(400);
  });
});

it('GET /v1/runs/{id}/checkpoint tells where a run stands, at any time', async () => {
  const response = await test.request('POST', '/v1/runs', { body: { question: 'Where?', budget_credits: 9, source_cap: 3, allowed_hosts: ['Example.org'], denied_hosts: ['no.example'] } });
  const { id } = await viewOf(response);
  const checkpoint = CheckpointView.parse(await (await test.request('GET', `/v1/runs/${id}/checkpoint`)).json());
  expect(checkpoint).toMatchObject({
    run_id: id, question: 'Where?', status: 'queued', queries: [], failures: [], sources: [], remaining_work: [], answer_ready: false, deadline_reached: false,
    declared: { budget_credits: 9, source_cap: 3, workers: 4, allowed_hosts: ['example.org'], denied_hosts: ['no.example'] },
    reserved_estimate: 0, remaining_estimate: 9, unknown_estimate: 0, elapsed_seconds: 0, provider: { model: 'extractive', model_provider: null, search_provider: 'local' },
  });
});

it('[Q-26] GET /v1/spend adds up the charges of this tenant alone', async () => {
  const runId = await test.createRun('Spending');
  await test.sql.change(`INSERT INTO reservations (id, tenant_id, root_run_id, run_id, effect_key, operation, estimate_microcredits, charge_microcredits, state, created_at, settled_at)
    SELECT ?, tenant_id, id, id, ?, 'search', 1000000, 1000000, 'unknown', NOW(3), NOW(3) FROM runs WHERE id = ?`, [`res_${runId.slice(4)}`, `tool:${runId}`, runId]);
  const spend = async (options?: { key: string }) => SpendView.parse(await (await test.request('GET', '/v1/spend', options)).json());
  expect(await spend()).toMatchObject({ quota: { limit: null, left: null }, operations: [{ operation: 'search', calls: 1, credits: 1, overruns: 0, unknown_credits: 1 }] });
  expect(await spend({ key: FOREIGN_KEY })).toMatchObject({ quota: { held: 0, spent: 0 }, operations: [] });
});
