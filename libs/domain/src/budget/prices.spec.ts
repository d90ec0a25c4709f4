import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReadTier } from '#contracts';
import { creditsOf, modelCost, operationPrice, usageCost } from './prices.ts';

describe('operationPrice', () => {
  it.each([['search', 0, 1], ['search', 3, 1], ['read', 0, 2], ['read', 1, 4], ['read', 2, 7], ['read', 3, 12]] as [string, ReadTier, number][])('%s of tier %d costs %d credits', (operation, tier, credits) => {
    expect(creditsOf(operationPrice(operation, tier))).toBe(credits);
  });

  it.each([['model', 0], ['finish', 0], ['proxy', 0], ['', 0], ['__proto__', 0], ['read', 4], ['read', -1], ['read', 0.5]])('refuses %s of tier %d', (operation, tier) => {
    expect(() => operationPrice(operation, tier as ReadTier)).toThrow(expect.objectContaining({ code: 'OPERATION_UNKNOWN' }));
  });
});

const full = { inputMicrocreditsPer1000: 1_000, cachedInputMicrocreditsPer1000: 100, outputMicrocreditsPer1000: 4_000, reasoningMicrocreditsPer1000: 2_000 };
const plain = { inputMicrocreditsPer1000: 250, outputMicrocreditsPer1000: 1_000 };

describe('usageCost', () => {
  it('prices each kind of token once, and rounds up once', () => {
    expect(usageCost(full, { inputTokens: 1_000, cacheReadTokens: 600, outputTokens: 500, reasoningTokens: 200 })).toBe(400 + 60 + 1_200 + 400);
    expect(usageCost(plain, { inputTokens: 1_000, cacheReadTokens: 600, outputTokens: 500, reasoningTokens: 200 })).toBe(250 + 500);
    expect([usageCost(plain, { inputTokens: 1, outputTokens: 1 }), usageCost(plain, { inputTokens: 0, outputTokens: 0 })]).toEqual([2, 0]);
  });

  it('takes parts that exceed their whole for the whole', () => {
    expect(usageCost(full, { inputTokens: 10, cacheReadTokens: 1e9, outputTokens: 10, reasoningTokens: 1e9 })).toBe(21);
  });

  it('[Q-12] never exceeds what was reserved for so many tokens', () => {
    const tokens = fc.nat(1_000_000);
    const price = fc.record({ inputMicrocreditsPer1000: tokens, outputMicrocreditsPer1000: tokens, cachedInputMicrocreditsPer1000: tokens, reasoningMicrocreditsPer1000: tokens }, { requiredKeys: ['inputMicrocreditsPer1000', 'outputMicrocreditsPer1000'] });
    const usage = fc.record({ inputTokens: tokens, outputTokens: tokens, cacheReadTokens: tokens, reasoningTokens: tokens });
    fc.assert(fc.property(price, usage, (row, used) => usageCost(row, used) <= modelCost(row, used.inputTokens, used.outputTokens)));
  });
});

it('shows credits with three decimals', () => {
  expect([0, 1, 499, 500, 1_499_600, 2_000_000].map(creditsOf)).toEqual([0, 0, 0, 0.001, 1.5, 2]);
});
