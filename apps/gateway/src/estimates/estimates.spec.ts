import { EstimateView, type RunView } from '#contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endRun, FOREIGN_KEY, startTestGateway, type TestGateway } from '../spec-support/test-gateway.ts';

const QUESTION = 'How are leases renewed?';
/** The upper bound of that question's plan for the extractive model, which costs nothing: 8 searches and 12 reads. */
const HIGH = 32;

let test: TestGateway;
beforeAll(async () => {
  test = await startTestGateway({ CREDIT_PRICE: '0.01 EUR' });
});
afterAll(() => test.stop());

const estimate = async (body: object, key?: string): Promise<EstimateView> =>
  EstimateView.parse(await (await test.request('POST', '/v1/estimates', { body, ...(key === undefined ? {} : { key }) })).json());
const create = (body: object, key?: string): Promise<Response> => test.request('POST', '/v1/runs', { body: { question: QUESTION, ...body }, ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }) });
const runCount = async (): Promise<number> => Number((await test.sql.rows('SELECT COUNT(*) AS runs FROM runs'))[0]?.['runs']);
const accepted = async (response: Response): Promise<RunView> => {
  expect(response.status).toBe(202);
  return (await response.json()) as RunView;
};

describe('POST /v1/estimates', () => {
  it('forecasts from the plan, in credits and money, and writes nothing', async () => {
    const before = await runCount();
    const forecast = await estimate({ question: QUESTION, budget_credits: 31 });
    expect(forecast).toMatchObject({ basis: 'plan', past_runs: 0, credits: { low: 3, likely: 8, high: HIGH }, money: { low: 0.03, likely: 0.08, high: 0.32, currency: 'EUR' }, sufficient: false });
    expect((await estimate({ question: QUESTION, budget_credits: HIGH })).sufficient).toBe(true);
    expect(await runCount()).toBe(before);
    expect(await test.sql.rows('SELECT 1 FROM tenant_budgets')).toEqual([]);
  });

  it('refuses what it does not know, and an empty question', async () => {
    expect((await test.request('POST', '/v1/estimates', { body: { question: QUESTION, money: 1 } })).status).toBe(400);
    expect((await test.request('POST', '/v1/estimates', { body: { question: ' ' } })).status).toBe(400);
  });
});

describe('a run and its forecast', () => {
  it('goes on with a warning', async () => {
    const run = await accepted(await create({ budget_credits: 5 }));
    expect(run.warnings).toEqual([{ code: 'BUDGET_INSUFFICIENT', message: 'The run may need up to 32 credits, 8 more likely, and its budget is 5.' }]);
    expect((await accepted(await create({}))).warnings).toEqual([]);
    expect((await accepted(await create({ budget_credits: 5, estimate_mode: 'off' }))).warnings).toEqual([]);
  });

  it('is refused where the forecast is enforced, but not the repeat of one that was accepted', async () => {
    const first = await accepted(await create({ budget_credits: 5 }, 'enforced-later'));
    const before = await runCount();
    const refused = await create({ budget_credits: 5, estimate_mode: 'enforce' });
    expect([refused.status, ((await refused.json()) as { error: { code: string; param: string } }).error]).toEqual([402, expect.objectContaining({ code: 'BUDGET_INSUFFICIENT', param: 'budget_credits' })]);
    expect(await runCount()).toBe(before);
    expect((await accepted(await create({ budget_credits: 5, estimate_mode: 'enforce' }, 'enforced-later'))).id).toBe(first.id);
    expect((await accepted(await create({ budget_credits: HIGH, estimate_mode: 'enforce' }))).budget.limit).toBe(HIGH);
  });

  it('gets no more than the forecast where that caps it, and the same run for a repeat', async () => {
    const run = await accepted(await create({ budget_credits: 500, estimate_mode: 'cap' }, 'capped'));
    expect([run.budget.limit, run.warnings]).toEqual([HIGH, []]);
    expect((await accepted(await create({ budget_credits: 500, estimate_mode: 'cap' }, 'capped'))).id).toBe(run.id);
    const short = await accepted(await create({ budget_credits: 5, estimate_mode: 'cap' }));
    expect([short.budget.limit, short.warnings.length]).toEqual([5, 1]);
  });

  it('shows its forecast, and its cost where a credit has a price', async () => {
    const { id, budget } = await accepted(await create({}));
    expect(budget.forecast).toBe(8);
    await test.sql.change('UPDATE budgets SET spent_microcredits = 3500000, overrun_microcredits = 500000 WHERE root_run_id = ?', [id]);
    expect(await (await test.request('GET', `/v1/runs/${id}`)).json()).toMatchObject({ cost: { amount: 0.04, currency: 'EUR' }, warnings: [] });
    expect((await (await test.request('GET', '/v1/spend')).json())).toMatchObject({ cost: { amount: 0, currency: 'EUR' } });
  });

  it('[Q-26] is forecast from ended runs of its own tenant', async () => {
    for (const spent of [1, 2, 3, 4, 5]) {
      const runId = await test.createRun();
      await endRun(test, runId);
      await test.sql.change('UPDATE budgets SET spent_microcredits = ? WHERE root_run_id = ?', [spent * 1_000_000, runId]);
    }
    expect(await estimate({ question: QUESTION })).toMatchObject({ basis: 'past_runs', past_runs: 5, credits: { low: 1, likely: 3, high: 5 }, searches: { low: 0, likely: 0, high: 0 } });
    expect((await estimate({ question: QUESTION }, FOREIGN_KEY)).basis).toBe('plan');
  });
});
