import { MICROCREDITS_PER_CREDIT } from '#contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideOnEstimate, estimateRun, type Forecast, type PastRun, type PlannedRun } from './estimate.ts';

const FREE = { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 };
const PRICED = { inputMicrocreditsPer1000: 250_000, outputMicrocreditsPer1000: MICROCREDITS_PER_CREDIT };

const planOf = (changes: Partial<PlannedRun> = {}): PlannedRun => ({
  question: 'How are leases renewed?',
  workersMax: 4,
  supervisorTurnsMax: 12,
  workerTurnsMax: 8,
  sourceCap: 20,
  readTier: 0,
  maxOutputTokens: 4_096,
  prices: { supervisor: FREE, worker: FREE, synthesis: FREE },
  ...changes,
});

const priced = { supervisor: PRICED, worker: PRICED, synthesis: PRICED };
const ranges = (forecast: Forecast) => [forecast.searches, forecast.reads, forecast.inputTokens, forecast.outputTokens, forecast.microcredits];
const pastRun = fc.record({ searches: fc.nat(50), reads: fc.nat(50), inputTokens: fc.nat(1e6), outputTokens: fc.nat(1e5), microcredits: fc.nat(1e9) });

describe('the forecast of a run', () => {
  it('comes from the plan while few runs have ended', () => {
    const forecast = estimateRun(planOf(), []);
    expect(forecast).toMatchObject({ basis: 'plan', pastRuns: 0, searches: { low: 1, likely: 2, high: 8 }, reads: { low: 1, likely: 3, high: 12 } });
    // searches and reads alone: 1 + 2, 2 + 6, 8 + 24
    expect(forecast.microcredits).toEqual({ low: 3 * MICROCREDITS_PER_CREDIT, likely: 8 * MICROCREDITS_PER_CREDIT, high: 32 * MICROCREDITS_PER_CREDIT });
  });

  it('counts the questions inside a question, and reads no more than the cap', () => {
    const two = estimateRun(planOf({ question: 'How are leases renewed? Who sends the jobs?' }), []);
    expect(two.searches.likely).toBe(4);
    expect(estimateRun(planOf({ sourceCap: 2 }), []).reads).toEqual({ low: 1, likely: 2, high: 2 });
  });

  it('has room for the finishing allowance and an open call of each worker in its upper bound', () => {
    const one = estimateRun(planOf({ prices: priced, workersMax: 1 }), []);
    const nine = estimateRun(planOf({ prices: priced, workersMax: 9 }), []);
    expect(nine.microcredits.likely).toBe(one.microcredits.likely);
    // two tasks at most: one more open answer of 4,096 tokens at 1 credit per 1,000
    expect(nine.microcredits.high - one.microcredits.high).toBeGreaterThan(4 * MICROCREDITS_PER_CREDIT);
  });

  it('comes from percentiles once enough runs have ended', () => {
    const past: PastRun[] = Array.from({ length: 10 }, (_, index) => ({ searches: index + 1, reads: 2, inputTokens: 100, outputTokens: 10, microcredits: (index + 1) * 1000 }));
    expect(estimateRun(planOf(), past)).toMatchObject({ basis: 'past_runs', pastRuns: 10, searches: { low: 1, likely: 5, high: 9 }, microcredits: { low: 1000, likely: 5000, high: 9000 } });
  });

  it('is ordered and whole whatever the plan and the past', () => {
    const plan = fc.record({ question: fc.string({ maxLength: 200 }), workersMax: fc.integer({ min: 1, max: 64 }), supervisorTurnsMax: fc.integer({ min: 2, max: 200 }), workerTurnsMax: fc.integer({ min: 2, max: 200 }), sourceCap: fc.integer({ min: 1, max: 1000 }) });
    fc.assert(
      fc.property(plan, fc.array(pastRun, { maxLength: 30 }), (changes, past) => {
        for (const { low, likely, high } of ranges(estimateRun(planOf({ ...changes, prices: priced }), past))) {
          expect(low).toBeLessThanOrEqual(likely);
          expect(likely).toBeLessThanOrEqual(high);
          expect([low, likely, high].every((value) => Number.isSafeInteger(value) && value >= 0)).toBe(true);
        }
      }),
    );
  });
});

describe('what a forecast decides', () => {
  it.each([
    ['off', 9, 5, { kind: 'proceed', budget: 5 }],
    ['warn', 9, 5, { kind: 'warn', budget: 5 }],
    ['warn', 5, 5, { kind: 'proceed', budget: 5 }],
    ['enforce', 9, 5, { kind: 'refuse' }],
    ['enforce', 5, 5, { kind: 'proceed', budget: 5 }],
    ['cap', 3, 5, { kind: 'proceed', budget: 3 }],
    ['cap', 9, 5, { kind: 'warn', budget: 5 }],
  ] as const)('%s, a forecast of %i and a budget of %i', (mode, high, budget, decision) => {
    expect(decideOnEstimate(mode, high, budget)).toEqual(decision);
  });
});
