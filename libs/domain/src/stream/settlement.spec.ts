import { describe, expect, it } from 'vitest';
import type { FinishReason, ModelChunk } from '#contracts';
import { BlockAssembler } from './assemble.ts';
import { chooseSettlement, type AttemptEnding } from './settlement.ts';

const text: ModelChunk = { type: 'text-delta', index: 0, text: 'partial TAINT' };
const blank: ModelChunk = { type: 'text-delta', index: 0, text: ' \n' };
const reasoning: ModelChunk = { type: 'reasoning-delta', index: 1, text: 'hm' };
const call: ModelChunk = { type: 'tool-call-delta', index: 2, id: 'a', name: 'read', argumentsDelta: '{"u":1}' };
const badCall: ModelChunk = { type: 'tool-call-delta', index: 3, id: 'b', name: 'read', argumentsDelta: '{"u' };
const namelessCall: ModelChunk = { type: 'tool-call-delta', index: 4, id: 'c', argumentsDelta: '{}' };
const finish = (kind: FinishReason['kind']): ModelChunk => ({ type: 'finish', reason: { kind } });

const settle = (ending: AttemptEnding, ...chunks: ModelChunk[]): string => {
  const assembler = new BlockAssembler();
  for (const chunk of chunks) assembler.push(chunk);
  const settlement = chooseSettlement(assembler, ending);
  return settlement.kind === 'message' ? `message ${settlement.outcome} ${settlement.blocks.length}` : `attempt ${settlement.outcome} ${settlement.code}`;
};

const returned: AttemptEnding = { kind: 'returned' };
const cancelled: AttemptEnding = { kind: 'cancelled' };

describe('chooseSettlement', () => {
  it.each<[string, AttemptEnding, ModelChunk[], string]>([
    ['good finish with text', returned, [text, finish('stop')], 'message completed 1'],
    ['good finish with calls', returned, [call, finish('tool-calls')], 'message completed 1'],
    ['calls win over stop', returned, [text, call, finish('stop')], 'message completed 2'],
    ["one call's arguments do not parse", returned, [call, badCall, finish('tool-calls')], 'message completed 2'],
    ['a call without a name', returned, [call, namelessCall, finish('tool-calls')], 'attempt failed MODEL_PROTOCOL_ERROR'],
    ['calls announced but none came', returned, [text, finish('tool-calls')], 'attempt failed MODEL_PROTOCOL_ERROR'],
    ['length, text only', returned, [text, reasoning, finish('max-tokens')], 'message truncated 2'],
    ['length inside a call', returned, [text, badCall, finish('max-tokens')], 'attempt failed MODEL_OUTPUT_TRUNCATED'],
    ['length after a whole call', returned, [call, finish('max-tokens')], 'attempt failed MODEL_OUTPUT_TRUNCATED'],
    ['length while reasoning', returned, [reasoning, finish('max-tokens')], 'attempt empty MODEL_OUTPUT_TRUNCATED'],
    ['content filter', returned, [text, call, finish('content-filter')], 'attempt filtered MODEL_CONTENT_FILTERED'],
    ['no terminal marker', returned, [text], 'attempt failed MODEL_STREAM_CUT'],
    ['provider error', { kind: 'failed', code: 'MODEL_OVERLOADED' }, [text, finish('stop')], 'attempt failed MODEL_OVERLOADED'],
    ['filter raised as an error', { kind: 'failed', code: 'MODEL_CONTENT_FILTERED' }, [text], 'attempt filtered MODEL_CONTENT_FILTERED'],
    ['nothing at all', returned, [finish('stop')], 'attempt empty MODEL_EMPTY_ANSWER'],
    ['blank text and reasoning only', returned, [blank, reasoning, finish('stop')], 'attempt empty MODEL_EMPTY_ANSWER'],
    ['cancelled with visible text', cancelled, [text, call], 'message interrupted 1'],
    ['cancelled without text', cancelled, [blank, reasoning, call], 'attempt cancelled RUN_CANCELLED'],
    ['process died', { kind: 'lost' }, [text, finish('stop')], 'attempt lost null'],
  ])('[Q-05] %s', (_, ending, chunks, expected) => {
    expect(settle(ending, ...chunks)).toBe(expected);
  });
});
