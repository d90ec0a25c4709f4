import { describe, expect, it } from 'vitest';
import type { FinishReason, ModelChunk } from '#contracts';
import { BlockAssembler } from './assemble.ts';

const assemble = (...chunks: ModelChunk[]): BlockAssembler => {
  const assembler = new BlockAssembler();
  for (const chunk of chunks) assembler.push(chunk);
  return assembler;
};

const text = (index: number, value: string): ModelChunk => ({ type: 'text-delta', index, text: value });
const reasoning = (index: number, value: string): ModelChunk => ({ type: 'reasoning-delta', index, text: value });
const call = (index: number, id: string, name: string, argumentsDelta: string): ModelChunk => ({ type: 'tool-call-delta', index, id, name, argumentsDelta });
const finish = (kind: FinishReason['kind'], replayState?: unknown): ModelChunk => ({ type: 'finish', reason: { kind }, ...(replayState !== undefined && { replayState }) });

describe('BlockAssembler', () => {
  it('[Q-01] puts interleaved blocks together in first-seen order, with or without block-start', () => {
    const assembler = assemble(
      { type: 'block-start', index: 4, blockType: 'reasoning', field: 'reasoning' },
      { type: 'block-start', index: 4, blockType: 'reasoning' },
      reasoning(4, 'th'),
      call(2, 'a', 'read', '{"x"'),
      call(7, 'b', 'find', '{}'),
      text(0, 'hel'),
      call(2, 'a', 'read', ':1}'),
      reasoning(4, 'ink'),
      text(0, 'lo'),
      finish('tool-calls'),
    );
    expect(assembler.blocks()).toEqual([
      { type: 'reasoning', text: 'think', field: 'reasoning' },
      { type: 'tool-call', id: 'a', name: 'read', arguments: '{"x":1}' },
      { type: 'tool-call', id: 'b', name: 'find', arguments: '{}' },
      { type: 'text', text: 'hello' },
    ]);
  });

  it('takes the first block-end as the truth and ignores stragglers', () => {
    const assembler = assemble(text(0, 'a'), { type: 'block-end', index: 0, block: { type: 'text', text: 'whole' } }, text(0, 'b'), {
      type: 'block-end',
      index: 0,
      block: { type: 'text', text: 'second' },
    });
    expect(assembler.blocks()).toEqual([{ type: 'text', text: 'whole' }]);
  });

  it('[Q-24] keeps an absent provider id and name empty', () => {
    expect(assemble({ type: 'tool-call-delta', index: 0, id: '', argumentsDelta: '{}' }).blocks()).toEqual([{ type: 'tool-call', id: '', name: '', arguments: '{}' }]);
  });

  it('[Q-13] takes the last usage, and none when none came', () => {
    expect(assemble().usage).toBeUndefined();
    const usage = (outputTokens: number): ModelChunk => ({ type: 'usage', usage: { inputTokens: 1, outputTokens } });
    expect(assemble(usage(1), usage(5)).usage).toEqual({ inputTokens: 1, outputTokens: 5 });
  });

  it('[Q-05] says whether a finish was seen', () => {
    expect(assemble(text(0, 'a'))).toMatchObject({ finished: false, finish: { kind: 'stop' } });
    expect(assemble(finish('content-filter'))).toMatchObject({ finished: true, finish: { kind: 'content-filter' } });
  });

  it('throws for an unknown chunk and an unknown open block', () => {
    expect(() => assemble({ type: 'surprise' } as unknown as ModelChunk)).toThrow('unhandled');
    const odd = assemble({ type: 'block-start', index: 0, blockType: 'image' as 'text' });
    expect(() => odd.blocks()).toThrow('unhandled');
    expect(odd.interruptedBlocks()).toEqual([]);
  });

  describe('after max-tokens', () => {
    const end = (index: number, args: string): ModelChunk => ({ type: 'block-end', index, block: { type: 'tool-call', id: 'a', name: 'read', arguments: args } });

    it('leaves every tool call out of the blocks', () => {
      const assembler = assemble(text(0, 'a'), call(1, 'a', 'read', '{}'), finish('max-tokens'));
      expect(assembler.blocks()).toEqual([{ type: 'text', text: 'a' }]);
      expect(assembler.hasToolCalls).toBe(true);
    });

    it.each([
      ['open', [call(0, 'a', 'read', '{}')], 1],
      ['closed but not JSON', [end(0, '{"x')], 1],
      ['closed and whole', [end(0, '{}')], 0],
    ])('lists truncated tool calls: %s', (_, chunks, count) => {
      expect(assemble(...chunks, finish('max-tokens')).truncatedToolCalls()).toHaveLength(count);
      expect(assemble(...chunks, finish('tool-calls')).truncatedToolCalls()).toEqual([]);
    });
  });

  it.each([
    ['passes it on by identity when nothing was left out', 'stop', { blocks: [1, 2] }, { blocks: [1, 2] }],
    ['removes entries of left-out blocks', 'max-tokens', { response: 'r', blocks: [1, 2] }, { response: 'r', blocks: [1] }],
    ['drops a list that does not match', 'stop', { blocks: [1] }, undefined],
    ['keeps an envelope without blocks', 'max-tokens', { response: 'r' }, { response: 'r' }],
    ['knows none', 'stop', undefined, undefined],
  ] as const)('replay state: %s', (_, kind, state, expected) => {
    const assembler = assemble(text(0, 'a'), call(1, 'a', 'read', '{}'), finish(kind, state));
    expect(assembler.replayState()).toEqual(expected);
    if (expected === state) expect(assembler.replayState()).toBe(state);
  });

  it('[Q-05] shows of an interrupted answer only visible text and reasoning', () => {
    const assembler = assemble(text(0, 'seen'), text(1, ' \n'), reasoning(2, 'thought'), call(3, 'a', 'read', '{}'));
    expect(assembler.interruptedBlocks()).toEqual([
      { type: 'text', text: 'seen' },
      { type: 'reasoning', text: 'thought' },
    ]);
  });
});
