import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { promptHistoryOf, type PastPrompt } from './prompt-history.ts';
import { promptPolicy, rawPageCharsMax } from './prompt-policy.ts';

const price = (input: number, cached?: number) => ({ inputMicrocreditsPer1000: input, outputMicrocreditsPer1000: 1, ...(cached === undefined ? {} : { cachedInputMicrocreditsPer1000: cached }) });

describe('rawPageCharsMax', () => {
  it.each([
    ['a tenth', price(100, 10), 16_000, 72_000],
    ['a quarter', price(100, 25), 16_000, 48_000],
    ['no discount', price(100, 100), 16_000, 36_000],
    ['a tenth, small pages', price(100, 10), 8_000, 36_000],
    ['a hundredth', price(100, 1), 16_000, 128_000],
    ['a free cache', price(100, 0), 16_000, 128_000],
    ['an unknown price of cached input', price(100), 8_000, 64_000],
    ['an unknown one and huge pages', price(100), 100_000, 200_000],
    ['a model that costs nothing', price(0), 8_000, Infinity],
  ])('%s', (_name, given, pageChars, expected) => {
    expect(rawPageCharsMax(given, pageChars)).toBe(expected);
  });

  it('always has room for two pages, and never falls when the cache gets cheaper', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 0, max: 1e6 }), fc.integer({ min: 1_000, max: 100_000 }), (input, cached, pageChars) => {
        const limit = rawPageCharsMax(price(input, cached), pageChars);
        expect(limit).toBeGreaterThanOrEqual(2 * pageChars);
        expect(limit).toBeLessThanOrEqual(rawPageCharsMax(price(input, Math.floor(cached / 2)), pageChars));
      }),
    );
  });
});

const past = (tokens: number, more: Partial<PastPrompt> = {}, folds: number[] = [], cut: number | null = 0): PastPrompt => ({ kind: 'message', summary: null, finishing: false, errorCode: null, usage: { inputTokens: tokens, outputTokens: 0, estimated: true }, prompt: { tokens, folds, cut }, ...more });

describe('prompt sizes', () => {
  const policy = promptPolicy({ tokensMax: 1_000, rawPageChars: 500 });

  it('are corrected by what the provider counted last, within bounds', () => {
    const counted = (reported: number) => promptHistoryOf([past(100, { usage: { inputTokens: reported, outputTokens: 0, estimated: false } }), past(5_000)]);
    expect([80, 100, 125, 10, 10_000].map((reported) => policy.tokensMax(counted(reported)))).toEqual([1_250, 1_000, 800, 2_000, 333]);
    expect(policy.tokensMax(promptHistoryOf([]))).toBe(1_000);
  });

  it('[Q-17] are half of the prompt that was too long from then on', () => {
    const history = promptHistoryOf([past(600, { errorCode: 'MODEL_CONTEXT_OVERFLOW' }), past(200)]);
    expect(policy.tokensMax(history)).toBe(300);
    expect(policy.tokensMax({ ...history, overflowTokens: 9_000 })).toBe(1_000);
  });

  it('keep the folds and the cut of the newest prompt; a finishing call and a lost attempt say nothing', () => {
    const history = promptHistoryOf([past(1, {}, [4]), past(1, {}, [4, 7], 6), past(9, { finishing: true, errorCode: 'MODEL_CONTEXT_OVERFLOW' }), { ...past(1), prompt: null }]);
    expect(history).toEqual({ folds: [4, 7], cut: 6, summary: null, counted: null, overflowTokens: null });
  });

  it('ask for a fold when pages take too much or messages would be left out', () => {
    const load = { turn: 3, rawPageChars: 500, tokens: 1_000, tokensMax: 1_000 };
    expect([load, { ...load, rawPageChars: 501 }, { ...load, tokens: 1_001 }].map((given) => policy.isFoldDue(given))).toEqual([false, true, true]);
  });
});
