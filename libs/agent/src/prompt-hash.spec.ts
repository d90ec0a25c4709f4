import { describe, expect, it } from 'vitest';
import type { ModelMessage, ToolCallId } from '#contracts';
import { promptSha256 } from './prompt-hash.ts';

const id = (letter: string): ToolCallId => `call_${letter.repeat(26)}` as ToolCallId;
const answer = (toolCallId: ToolCallId, args = '{}'): ModelMessage => ({ role: 'assistant', content: '', toolCalls: [{ toolCallId, providerCallId: 'p1', name: 'read', arguments: args }] });
const question: ModelMessage = { role: 'user', content: 'Why?' };
const tool = { name: 'read', description: 'Reads.', parameters: {} };

describe('promptSha256', () => {
  it('is the same for the same words, whatever ids of ours stand in them', () => {
    expect(promptSha256([question, answer(id('a'))], [tool])).toBe(promptSha256([{ ...question }, answer(id('b'))], [{ ...tool }]));
    expect(promptSha256([question], [])).toMatch(/^[0-9a-f]{64}$/);
  });

  it('differs with any word, order, argument or tool', () => {
    const hashes = [
      promptSha256([question], []),
      promptSha256([question], [tool]),
      promptSha256([{ role: 'user', content: 'Why' }], []),
      promptSha256([{ role: 'system', content: 'Why?' }], []),
      promptSha256([question, answer(id('a'))], []),
      promptSha256([answer(id('a')), question], []),
      promptSha256([question, answer(id('a'), '{"a":1}')], []),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});
