import { DELEGATIONS_PER_RUN_MAX, type ReadTier } from '#contracts';
import type { ModelPrice } from '../ports/language-model.ts';
import { splitQuestion } from '../text/split-question.ts';
import { estimateTokens } from '../text/tokens.ts';
import { modelCost, operationPrice } from './prices.ts';

/** What one figure may come to. `low <= likely <= high`. */
export interface ForecastRange {
  low: number;
  likely: number;
  high: number;
}

/** What a run would use: operations and tokens in whole numbers, money in microcredits. */
export interface Forecast {
  /** `past_runs` where enough runs of the tenant have ended, else `plan`. */
  basis: 'plan' | 'past_runs';
  /** Ended runs that were looked at. */
  pastRuns: number;
  searches: ForecastRange;
  reads: ForecastRange;
  inputTokens: ForecastRange;
  outputTokens: ForecastRange;
  microcredits: ForecastRange;
}

/** What a run may use, and what its models cost. */
export interface PlannedRun {
  question: string;
  workersMax: number;
  supervisorTurnsMax: number;
  workerTurnsMax: number;
  sourceCap: number;
  readTier: ReadTier;
  maxOutputTokens: number;
  prices: { supervisor: ModelPrice; worker: ModelPrice; synthesis: ModelPrice };
}

/** What one ended run has used. */
export interface PastRun {
  searches: number;
  reads: number;
  inputTokens: number;
  outputTokens: number;
  microcredits: number;
}

/** Below this many ended runs a percentile says less than the plan. */
const PAST_RUNS_MIN = 5;
const PERCENTILES: ForecastRange = { low: 0.1, likely: 0.5, high: 0.9 };

const SUBQUESTIONS_MAX = 8;
/** Delegations for one part of a question: a second round follows where the first found little. */
const TASKS_PER_PART: ForecastRange = { low: 1, likely: 1, high: 2 };
const SEARCHES_PER_TASK: ForecastRange = { low: 1, likely: 2, high: 4 };
const READS_PER_TASK: ForecastRange = { low: 1, likely: 3, high: 6 };
const WORKER_TURNS: ForecastRange = { low: 3, likely: 6, high: Infinity };
const SUPERVISOR_TURNS: ForecastRange = { low: 3, likely: 4, high: 8 };
/** Role, tools and notes, which every call sends. */
const PROMPT_TOKENS: ForecastRange = { low: 1_500, likely: 2_000, high: 3_000 };
/** One page as a model reads it. */
const PAGE_TOKENS: ForecastRange = { low: 500, likely: 1_500, high: 2_700 };
const FINDINGS_TOKENS: ForecastRange = { low: 200, likely: 600, high: 1_500 };
const ANSWER_TOKENS: ForecastRange = { low: 100, likely: 250, high: 800 };
/** Prompt of the call that a stopped run's report is written with. */
const FINISH_PROMPT_TOKENS = 8_000;

/**
 * What a run would use, before anything is spent: from the runs of the tenant that have ended where there are enough of them, else from the
 * shape of the question and the run's limits. The upper bound of the money includes what a run has to set aside to get that far: the
 * finishing allowance and one open call for each worker.
 */
export function estimateRun(plan: PlannedRun, past: readonly PastRun[]): Forecast {
  const used = past.length < PAST_RUNS_MIN ? fromPlan(plan) : fromPast(past);
  const { low, likely, high } = used.microcredits;
  return { ...used, pastRuns: past.length, microcredits: { low, likely, high: high + setAside(plan) } };
}

function fromPast(past: readonly PastRun[]): Omit<Forecast, 'pastRuns'> {
  const range = (name: keyof PastRun): ForecastRange => {
    const sorted = past.map((run) => run[name]).sort((a, b) => a - b);
    return rangeOf((bound) => sorted[Math.ceil(PERCENTILES[bound] * sorted.length) - 1] ?? 0);
  };
  return {
    basis: 'past_runs',
    searches: range('searches'),
    reads: range('reads'),
    inputTokens: range('inputTokens'),
    outputTokens: range('outputTokens'),
    microcredits: range('microcredits'),
  };
}

/** Delegations: the questions inside the question, and further rounds. */
function tasksOf({ question }: PlannedRun): ForecastRange {
  const parts = Math.max(1, splitQuestion(question, SUBQUESTIONS_MAX).length);
  return rangeOf((bound) => Math.min(parts * TASKS_PER_PART[bound], DELEGATIONS_PER_RUN_MAX));
}

interface RoleTokens {
  input: number;
  output: number;
}

function fromPlan(plan: PlannedRun): Omit<Forecast, 'pastRuns'> {
  const questionTokens = estimateTokens(plan.question);
  const tasks = tasksOf(plan);
  const searches = rangeOf((bound) => tasks[bound] * SEARCHES_PER_TASK[bound]);
  const reads = rangeOf((bound) => Math.min(tasks[bound] * READS_PER_TASK[bound], plan.sourceCap));
  const workers = (bound: Bound): RoleTokens => {
    const turns = Math.min(WORKER_TURNS[bound], plan.workerTurnsMax);
    const { input, output } = conversationTokens(bound, turns, questionTokens, (reads[bound] / tasks[bound]) * PAGE_TOKENS[bound]);
    return { input: input * tasks[bound], output: output * tasks[bound] };
  };
  const supervisor = (bound: Bound): RoleTokens => {
    const turns = Math.min(SUPERVISOR_TURNS[bound], plan.supervisorTurnsMax);
    return conversationTokens(bound, turns, questionTokens, tasks[bound] * FINDINGS_TOKENS[bound]);
  };
  const tokens = (kind: keyof RoleTokens): ForecastRange => rangeOf((bound) => Math.ceil(workers(bound)[kind] + supervisor(bound)[kind]));
  return {
    basis: 'plan',
    searches,
    reads,
    inputTokens: tokens('input'),
    outputTokens: tokens('output'),
    microcredits: rangeOf((bound) => {
      const [ofWorkers, ofSupervisor] = [workers(bound), supervisor(bound)];
      const models = modelCost(plan.prices.worker, ofWorkers.input, ofWorkers.output) + modelCost(plan.prices.supervisor, ofSupervisor.input, ofSupervisor.output);
      return searches[bound] * operationPrice('search') + reads[bound] * operationPrice('read', plan.readTier) + models;
    }),
  };
}

type Bound = keyof ForecastRange;

const rangeOf = (value: (bound: Bound) => number): ForecastRange => ({ low: value('low'), likely: value('likely'), high: value('high') });

/** Every turn sends the history again, which grows evenly to `collectedTokens`. */
const conversationTokens = (bound: Bound, turns: number, questionTokens: number, collectedTokens: number): RoleTokens => ({
  input: turns * (PROMPT_TOKENS[bound] + questionTokens) + ((turns - 1) / 2) * (collectedTokens + turns * ANSWER_TOKENS[bound]),
  output: turns * ANSWER_TOKENS[bound],
});

/** An open call holds what its longest answer would cost. */
function setAside(plan: PlannedRun): number {
  const { prices, maxOutputTokens } = plan;
  const open = Math.min(plan.workersMax, tasksOf(plan).high);
  const openCall = modelCost(prices.worker, PROMPT_TOKENS.high + READS_PER_TASK.likely * PAGE_TOKENS.high, maxOutputTokens);
  return modelCost(prices.synthesis, FINISH_PROMPT_TOKENS, maxOutputTokens) + open * openCall;
}

/** How a forecast decides on a new run. */
export type EstimateDecision = { kind: 'proceed'; budget: number } | { kind: 'warn'; budget: number } | { kind: 'refuse' };

/**
 * Holds the upper bound of a forecast against a budget, both in microcredits. `off` never looks; `warn` lets the run go on, `enforce` refuses
 * it, where the budget may not be enough; `cap` lowers a budget that is more than enough, and never raises one.
 */
export function decideOnEstimate(mode: 'off' | 'warn' | 'enforce' | 'cap', high: number, budget: number): EstimateDecision {
  if (mode === 'off') return { kind: 'proceed', budget };
  if (high <= budget) return { kind: 'proceed', budget: mode === 'cap' ? high : budget };
  return mode === 'enforce' ? { kind: 'refuse' } : { kind: 'warn', budget };
}
