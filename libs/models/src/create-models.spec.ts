import { describe, expect, it } from 'vitest';
import { modelConfig } from './config.ts';
import { createModels, pricesOf } from './create-models.ts';

const ADDRESS = { MODEL_BASE_URL: 'http://127.0.0.1:1/v1' };

const first = (settings: Record<string, string>) => createModels(modelConfig.parse(settings)).supervisor[0];

describe('createModels', () => {
  it('is extractive and free when nothing is set', () => {
    const configured = first({});
    expect(configured).toMatchObject({ modelName: 'extractive', price: { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0 }, maxOutputTokens: 4_096 });
    expect(configured.model.id).toBe('extractive');
  });

  it('is OpenAI-compatible at the default price when an address is set', () => {
    const configured = first({ ...ADDRESS, MODEL_NAME: 'some-model', MODEL_MAX_OUTPUT_TOKENS: '200' });
    expect(configured).toMatchObject({ modelName: 'some-model', price: { inputMicrocreditsPer1000: 250_000, outputMicrocreditsPer1000: 1_000_000 }, maxOutputTokens: 200 });
    expect(configured.model.id).toBe('openai-compatible');
  });

  it('stays extractive by choice, whatever else is set', () => {
    const configured = first({ ...ADDRESS, MODEL_PROVIDER: 'extractive', MODEL_NAME: 'some-model' });
    expect([configured.model.id, configured.modelName, configured.price.outputMicrocreditsPer1000]).toEqual(['extractive', 'extractive', 0]);
  });

  it.each([
    ['MODEL_NAME', ADDRESS],
    ['MODEL_BASE_URL', { MODEL_PROVIDER: 'openai-compatible', MODEL_NAME: 'some-model' }],
  ])('names a missing %s', (key, settings) => {
    expect(() => first(settings)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(key) as string }));
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

  it('gives each role its model, and all of them the fallbacks in order', () => {
    const roster = createModels(
      modelConfig.parse({
        ...ADDRESS,
        MODEL_NAME: 'base',
        MODEL_API_KEY: 'sk-base-key-1',
        MODEL_PRICE: 'input=2,output=3',
        WORKER_MODEL: 'small',
        SYNTHESIS_MODEL: '{"name":"big","provider":"anthropic","baseUrl":"http://127.0.0.1:2/v1","price":"input=1,output=5"}',
        MODEL_FALLBACKS: '["spare",{"name":"far","provider":"openai-responses"}]',
      }),
    );
    const named = (role: keyof typeof roster) => roster[role].map(({ model, modelName, price }) => `${model.id} ${modelName} ${price.inputMicrocreditsPer1000}`);
    const fallbacks = ['openai-compatible spare 250000', 'openai-responses far 250000'];
    expect(named('supervisor')).toEqual(['openai-compatible base 2000000', ...fallbacks]);
    expect(named('worker')).toEqual(['openai-compatible small 250000', ...fallbacks]);
    expect(named('synthesis')).toEqual(['anthropic big 1000000', ...fallbacks]);
    expect(roster.worker[0].model).toBe(roster.supervisor[0].model);
  });

  it.each([
    {},
    { ...ADDRESS, MODEL_NAME: 'base', MODEL_PRICE: 'input=2,output=3' },
    { ...ADDRESS, MODEL_NAME: 'base', MODEL_PRICE: 'input=2,output=3', WORKER_MODEL: 'small', SUPERVISOR_MODEL: '{"name":"big","price":"input=1,output=5"}' },
    { ...ADDRESS, MODEL_NAME: 'base', MODEL_PRICE: 'input=2,output=3', WORKER_MODEL: 'base', SYNTHESIS_MODEL: '{"name":"any","provider":"extractive"}' },
  ])('forecasts with the prices that the models have: %o', (settings: Record<string, string>) => {
    const config = modelConfig.parse(settings);
    const roster = createModels(config);
    expect(pricesOf(config)).toEqual({ supervisor: roster.supervisor[0].price, worker: roster.worker[0].price, synthesis: roster.synthesis[0].price });
  });

  it('[L43] never sends the key of one address to another', () => {
    const keys: [string, string | undefined][] = [];
    const other = (member: string) => `{"name":"m","baseUrl":"http://127.0.0.1:2/v1"${member}}`;
    createModels(modelConfig.parse({ ...ADDRESS, MODEL_NAME: 'base', MODEL_API_KEY: 'sk-base-key-1', WORKER_MODEL: other(''), SYNTHESIS_MODEL: other(',"apiKey":"sk-other-key-2"') }), (model, key) => {
      keys.push([model.host, key]);
      return model;
    });
    expect(keys).toEqual([['127.0.0.1:1', 'sk-base-key-1'], ['127.0.0.1:2', undefined], ['127.0.0.1:2', 'sk-other-key-2']]);
  });

  it.each([
    ['SUPERVISOR_MODEL', '{"name":"a","key":"sk-canary-123456"}'],
    ['SUPERVISOR_MODEL', '{"name":"a","apiKey":"sk-canary-123456"'],
    ['MODEL_FALLBACKS', '[{"apiKey":"sk-canary-123456"}]'],
    ['MODEL_FALLBACKS', 'a,,b'],
  ])('refuses a bad %s and tells nothing of a key', (key, value) => {
    const parsed = modelConfig.safeParse({ [key]: value });
    expect(parsed.success).toBe(false);
    expect(JSON.stringify(parsed.error?.issues)).not.toContain('canary');
  });
});
