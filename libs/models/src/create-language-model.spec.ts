import { describe, expect, it } from 'vitest';
import { modelConfig } from './config.ts';
import { createLanguageModel } from './create-language-model.ts';

const ADDRESS = { MODEL_BASE_URL: 'http://127.0.0.1:1/v1' };

describe('createLanguageModel', () => {
  it('is extractive and free when nothing is set', () => {
    const configured = createLanguageModel(modelConfig.parse({}));
    expect(configured).toMatchObject({ modelName: 'extractive', price: { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 }, maxOutputTokens: 4_096 });
    expect(configured.model.id).toBe('extractive');
  });

  it('is OpenAI-compatible at the default price when an address is set', () => {
    const configured = createLanguageModel(modelConfig.parse({ ...ADDRESS, MODEL_NAME: 'some-model', MODEL_MAX_OUTPUT_TOKENS: '200' }));
    expect(configured).toMatchObject({ modelName: 'some-model', price: { inputMicrocreditsPer1000: 250_000, outputMicrocreditsPer1000: 1_000_000 }, maxOutputTokens: 200 });
    expect(configured.model.id).toBe('openai-compatible');
  });

  it('stays extractive by choice, whatever else is set', () => {
    const configured = createLanguageModel(modelConfig.parse({ ...ADDRESS, MODEL_PROVIDER: 'extractive', MODEL_NAME: 'some-model' }));
    expect([configured.model.id, configured.modelName, configured.price.outputMicrocreditsPer1000]).toEqual(['extractive', 'extractive', 0]);
  });

  it.each([
    ['MODEL_NAME', ADDRESS],
    ['MODEL_BASE_URL', { MODEL_PROVIDER: 'openai-compatible', MODEL_NAME: 'some-model' }],
  ])('names a missing %s', (key, settings) => {
    expect(() => createLanguageModel(modelConfig.parse(settings))).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(key) as string }));
  });

  it.each([
    ['MODEL_BASE_URL', 'file:///etc/passwd'],
    ['MODEL_BASE_URL', 'api.openai.com/v1'],
    ['MODEL_API_KEY', 'two words'],
    ['MODEL_PROVIDER', 'other'],
    ['MODEL_IDLE_TIMEOUT_MS', '0'],
    ['MODEL_MAX_OUTPUT_TOKENS', '1.5'],
  ])('refuses %s=%s', (key, value) => {
    expect(modelConfig.safeParse({ [key]: value }).success).toBe(false);
  });
});
