import { BUDGET_CREDITS_DEFAULT, MICROCREDITS_PER_CREDIT, QuaestorError, SOURCE_CAP_DEFAULT, WORKERS_PARALLEL_DEFAULT, type CreateRunRequest, type EstimateMode, type EstimateRequest, type EstimateView, type MoneyView, type TenantId, type WarningView } from '#contracts';
import type { EstimateRepository, NewRun } from '#database';
import { creditsOf, decideOnEstimate, estimateRun, type Forecast, type ForecastRange, type PlannedRun } from '#domain';
import { pricesOf } from '#models';
import type { GatewayConfig } from '../config.ts';
import { cleanQuestion } from '../runs/new-run.ts';
import { inMoney } from './credit-price.ts';

/** A run as it may be accepted, with what its owner should know; null when the forecast forbids it. */
export interface Admission {
  run: NewRun;
  warnings: WarningView[];
}

/** What runs would use. Spends and writes nothing. */
export class EstimatesService {
  readonly #past: Pick<EstimateRepository, 'pastRuns'>;
  readonly #config: GatewayConfig;
  readonly #prices: PlannedRun['prices'];

  /** Throws `CONFIG_INVALID` where a model's price is unknown and refused. */
  constructor(past: Pick<EstimateRepository, 'pastRuns'>, config: GatewayConfig) {
    this.#past = past;
    this.#config = config;
    this.#prices = pricesOf(config);
  }

  /** Throws `QUESTION_EMPTY` and `QUESTION_TOO_LONG`. */
  async estimate(tenantId: TenantId, request: EstimateRequest): Promise<EstimateView> {
    const forecast = await this.#forecast(tenantId, request);
    const budget = request.budget_credits ?? BUDGET_CREDITS_DEFAULT;
    const credits = converted(forecast.microcredits, creditsOf);
    const { CREDIT_PRICE: price } = this.#config;
    return {
      object: 'estimate',
      basis: forecast.basis,
      past_runs: forecast.pastRuns,
      searches: forecast.searches,
      reads: forecast.reads,
      input_tokens: forecast.inputTokens,
      output_tokens: forecast.outputTokens,
      credits,
      money: price === undefined ? null : { ...converted(credits, (value) => inMoney(price, value)), currency: price.currency },
      budget_credits: budget,
      sufficient: forecast.microcredits.high <= budget * MICROCREDITS_PER_CREDIT,
    };
  }

  /** Credits in money, or null where a credit has no price. */
  money(credits: number): MoneyView | null {
    const { CREDIT_PRICE: price } = this.#config;
    return price === undefined ? null : { amount: inMoney(price, credits), currency: price.currency };
  }

  /** Holds a new run against its forecast, in the mode that the request or the configuration names. */
  async admit(run: NewRun, request: CreateRunRequest): Promise<Admission | null> {
    const mode: EstimateMode = request.estimate_mode ?? this.#config.ESTIMATE_MODE;
    if (mode === 'off') return { run, warnings: [] };
    const { microcredits } = await this.#forecast(run.tenantId, request);
    const decision = decideOnEstimate(mode, microcredits.high, run.budgetMicrocredits);
    if (decision.kind === 'refuse') return null;
    const warnings = decision.kind === 'warn' ? [budgetInsufficient(microcredits, run.budgetMicrocredits)] : [];
    return { run: { ...run, budgetMicrocredits: decision.budget, forecastMicrocredits: microcredits.likely }, warnings };
  }

  async #forecast(tenantId: TenantId, { question, workers, source_cap: sourceCap }: EstimateRequest): Promise<Forecast> {
    const config = this.#config;
    const plan: PlannedRun = {
      question: cleanQuestion(question),
      workersMax: workers ?? WORKERS_PARALLEL_DEFAULT,
      supervisorTurnsMax: config.RESEARCH_SUPERVISOR_MAX_TURNS,
      workerTurnsMax: config.RESEARCH_WORKER_MAX_TURNS,
      sourceCap: sourceCap ?? SOURCE_CAP_DEFAULT,
      readTier: config.READ_TIER,
      maxOutputTokens: config.MODEL_MAX_OUTPUT_TOKENS,
      prices: this.#prices,
    };
    return estimateRun(plan, await this.#past.pastRuns(tenantId));
  }
}

/** The answer to a run whose forecast its budget does not cover, where that is enforced. */
export const refusedByForecast = (): QuaestorError =>
  new QuaestorError('BUDGET_INSUFFICIENT', 'The run may need more than its budget: raise budget_credits, see POST /v1/estimates, or set estimate_mode to warn.', { details: { param: 'budget_credits' } });

const budgetInsufficient = ({ likely, high }: ForecastRange, budget: number): WarningView => ({
  code: 'BUDGET_INSUFFICIENT',
  message: `The run may need up to ${creditsOf(high)} credits, ${creditsOf(likely)} more likely, and its budget is ${creditsOf(budget)}.`,
});

const converted = ({ low, likely, high }: ForecastRange, convert: (value: number) => number): ForecastRange => ({ low: convert(low), likely: convert(likely), high: convert(high) });
