import { z } from 'zod';
import * as limits from './limits.ts';

/** What a forecast does to a run that is asked for; see `CreateRunRequest`. */
export const EstimateMode = z.enum(['off', 'warn', 'enforce', 'cap']);
export type EstimateMode = z.infer<typeof EstimateMode>;

/** Something about an accepted run that its owner may want to change. */
export const WarningView = z.object({ code: z.string(), message: z.string() });
export type WarningView = z.infer<typeof WarningView>;

/** An amount in a currency named as in ISO 4217. */
export const MoneyView = z.object({ amount: z.number(), currency: z.string() });
export type MoneyView = z.infer<typeof MoneyView>;

/** Asks what a run would use; the same members as in `CreateRunRequest`. Nothing is spent and nothing is written. */
export const EstimateRequest = z.strictObject({
  question: z.string().describe('What would be researched.'),
  budget_credits: z.number().min(0).max(limits.BUDGET_CREDITS_MAX).optional().describe('Credits the run could spend, to hold the forecast against.'),
  source_cap: z.number().int().positive().max(limits.SOURCE_CAP_MAX).optional().describe('Useful sources the run could read.'),
  workers: z.number().int().positive().max(limits.WORKERS_PARALLEL_MAX).optional().describe('Workers of the run that could work at once.'),
});
export type EstimateRequest = z.infer<typeof EstimateRequest>;

const RangeView = z.object({ low: z.number(), likely: z.number(), high: z.number() });

/** A forecast, with a range for each figure. */
export const EstimateView = z.object({
  object: z.literal('estimate'),
  /** `past_runs`: percentiles 10, 50 and 90 of the tenant's ended runs. `plan`: the shape of the question and the limits, while few have ended. */
  basis: z.enum(['plan', 'past_runs']),
  past_runs: z.number().int(),
  searches: RangeView,
  reads: RangeView,
  input_tokens: RangeView,
  output_tokens: RangeView,
  /** `high` includes what a run has to set aside on its way, such as the finishing allowance. */
  credits: RangeView,
  /** The same in money, or null where a credit has no price. */
  money: RangeView.extend({ currency: z.string() }).nullable(),
  budget_credits: z.number(),
  /** Whether the budget covers the upper bound. */
  sufficient: z.boolean(),
});
export type EstimateView = z.infer<typeof EstimateView>;
