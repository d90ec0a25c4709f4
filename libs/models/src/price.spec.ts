import { describe, expect, it } from 'vitest';
import { modelConfig } from './config.ts';
import { DEFAULT_PRICE, priceOf } from './price.ts';

const configured = (settings: Record<string, string>) => modelConfig.parse(settings);
const unlisted = 'nobody/knows-this-model';

describe('priceOf', () => {
  it('takes the configured price, in microcredits', () => {
    expect(priceOf(unlisted, configured({ MODEL_PRICE: 'input=0.25, cached=0.025, output=1, reasoning=2' }))).toEqual({
      inputMicrocreditsPer1000: 250_000, cachedInputMicrocreditsPer1000: 25_000, outputMicrocreditsPer1000: 1_000_000, reasoningMicrocreditsPer1000: 2_000_000,
    });
  });

  it('takes the default for a model nobody knows, or refuses to start with it', () => {
    expect(priceOf(unlisted, configured({}))).toBe(DEFAULT_PRICE);
    expect(() => priceOf(unlisted, configured({ MODEL_UNKNOWN_PRICE: 'refuse' }))).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('MODEL_PRICE') as string }));
  });

  it('never charges for the built-in model', () => {
    expect(priceOf('extractive', configured({ MODEL_PRICE: 'input=1,output=1', MODEL_UNKNOWN_PRICE: 'refuse' }))).toEqual({ inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 });
  });

  it.each(['input=1', 'output=1', 'input=1,output=-1', 'input=1,output=1,output=2', 'input=1,output=1,prompt=1', 'input=1,output=1,__proto__=1', '1,1', ''])('refuses %s', (text) => {
    expect(modelConfig.safeParse({ MODEL_PRICE: text }).success).toBe(false);
  });
});
