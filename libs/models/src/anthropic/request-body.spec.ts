import { describe, expect, it } from 'vitest';
import { ToolCallId, type ModelMessage } from '#contracts';
import { describeModel } from '../catalog.ts';
import { renderMessagesBody } from './request-body.ts';

const OWN = 'own';
const THINKING = { type: 'thinking', thinking: 'why', signature: 'sealed' };

/** One answer with a call, and its result. */
const step = (digit: number, vendor: string, thought: boolean): ModelMessage[] => {
  const toolCallId = ToolCallId.parse(`call_${String(digit).repeat(26)}`);
  return [
    { role: 'assistant', content: '', vendor, toolCalls: [{ toolCallId, providerCallId: null, name: 'find', arguments: '{}' }], ...(thought && { replay: { thinking: [THINKING] } }) },
    { role: 'tool', toolCallId, providerCallId: null, name: 'find', content: 'Found.', isError: false },
  ];
};
const QUESTION: ModelMessage = { role: 'user', content: 'Why?' };

const bodyOf = (model: string, messages: ModelMessage[], { thinks = true, maxOutputTokens = 4_000 } = {}) =>
  JSON.parse(renderMessagesBody({ model, messages, tools: [], maxOutputTokens }, describeModel(model).quirks, { vendor: OWN, plain: true, thinks })) as { thinking?: unknown; messages: unknown[] };

describe('thinking', () => {
  it.each([
    ['claude-3-5-haiku-20241022', undefined],
    ['claude-3-7-sonnet-20250219', { type: 'enabled', budget_tokens: 2_000 }],
    ['claude-sonnet-4-20250514', { type: 'enabled', budget_tokens: 2_000 }],
    ['anthropic/claude-sonnet-4.5', { type: 'enabled', budget_tokens: 2_000 }],
    ['claude-haiku-4-5-20251001', { type: 'enabled', budget_tokens: 2_000 }],
    ['claude-opus-4-6', { type: 'adaptive' }],
    ['claude-opus-4-10', { type: 'adaptive' }],
    ['claude-opus-5', { type: 'adaptive' }],
    ['other-model', undefined],
  ])('is asked of %s as %j', (model, thinking) => {
    expect(bodyOf(model, [QUESTION]).thinking).toEqual(thinking);
    expect(bodyOf(model, [QUESTION], { thinks: false }).thinking).toBeUndefined();
  });

  it('leaves room for an answer, or is left out', () => {
    expect(bodyOf('claude-sonnet-4-5', [QUESTION], { maxOutputTokens: 1_500 }).thinking).toEqual({ type: 'enabled', budget_tokens: 1_024 });
    expect(bodyOf('claude-sonnet-4-5', [QUESTION], { maxOutputTokens: 1_024 }).thinking).toBeUndefined();
  });

  it.each([
    ['its own thinking', [...step(1, OWN, true), ...step(2, OWN, false)], true],
    ['no thinking at its beginning', [...step(1, OWN, false), ...step(2, OWN, true)], false],
    ['an answer of another model in it', [...step(1, OWN, true), ...step(2, 'other', false)], false],
    ['another model in the loop before it', [...step(1, 'other', false), { role: 'assistant', content: 'Half.', vendor: 'other' }, { role: 'user', content: 'Continue.' }], true],
  ] as [string, ModelMessage[], boolean][])('[L31] [B17] in a tool loop with %s', (_, loop, thinks) => {
    const body = bodyOf('claude-sonnet-4-5', [QUESTION, ...loop, QUESTION]);
    expect(body.thinking !== undefined).toBe(thinks);
    if (!thinks) expect(JSON.stringify(body.messages)).not.toContain('sealed');
  });
});
