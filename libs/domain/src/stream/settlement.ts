import { assertNever, type AttemptOutcome, type ErrorCode, type FinishReason, type StreamBlock } from '#contracts';
import type { BlockAssembler } from './assemble.ts';

/** How a model call came to its end, as the caller saw it. */
export type AttemptEnding = { kind: 'returned' } | { kind: 'cancelled' } | { kind: 'failed'; code: ErrorCode } | { kind: 'lost' };

/** What is settled for an attempt. `message` enters the conversation; `attempt` is log-only and never shown to a model again. */
export type AttemptSettlement =
  | { kind: 'message'; outcome: Extract<AttemptOutcome, 'completed' | 'truncated' | 'interrupted'>; blocks: StreamBlock[] }
  | { kind: 'attempt'; outcome: Extract<AttemptOutcome, 'failed' | 'filtered' | 'empty' | 'cancelled' | 'lost'>; code: ErrorCode | null };

type Assembled = Pick<BlockAssembler, 'blocks' | 'interruptedBlocks' | 'hasToolCalls' | 'finish' | 'finished'>;

const failed = (code: ErrorCode): AttemptSettlement => ({ kind: 'attempt', outcome: code === 'MODEL_CONTENT_FILTERED' ? 'filtered' : 'failed', code });
const empty = (code: ErrorCode): AttemptSettlement => ({ kind: 'attempt', outcome: 'empty', code });

const hasText = (blocks: readonly StreamBlock[]): boolean => blocks.some((block) => block.type === 'text' && block.text.trim() !== '');

const settleGood = (blocks: StreamBlock[], reason: FinishReason): AttemptSettlement => {
  const calls = blocks.filter((block) => block.type === 'tool-call');
  const callsWereLost = reason.kind === 'tool-calls' && calls.length === 0;
  if (callsWereLost || calls.some((call) => call.name.trim() === '')) return failed('MODEL_PROTOCOL_ERROR');
  if (calls.length === 0 && !hasText(blocks)) return empty('MODEL_EMPTY_ANSWER');
  return { kind: 'message', outcome: 'completed', blocks };
};

const settleReturned = (assembled: Assembled): AttemptSettlement => {
  if (!assembled.finished) return failed('MODEL_STREAM_CUT');
  const blocks = assembled.blocks();
  switch (assembled.finish.kind) {
    case 'stop':
    case 'tool-calls':
      return settleGood(blocks, assembled.finish);
    case 'max-tokens':
      if (assembled.hasToolCalls) return failed('MODEL_OUTPUT_TRUNCATED');
      return hasText(blocks) ? { kind: 'message', outcome: 'truncated', blocks } : empty('MODEL_OUTPUT_TRUNCATED');
    case 'content-filter':
      return failed('MODEL_CONTENT_FILTERED');
    default:
      return assertNever(assembled.finish);
  }
};

const settleCancelled = (blocks: StreamBlock[]): AttemptSettlement =>
  hasText(blocks) ? { kind: 'message', outcome: 'interrupted', blocks } : { kind: 'attempt', outcome: 'cancelled', code: 'RUN_CANCELLED' };

/**
 * Chooses what is settled for an attempt. Only a returned call with a finish chunk can become a plain message; a cut, an error, a filter
 * or an answer without text and calls stays log-only, whatever text had arrived. Arguments of tool calls are not judged here: the call
 * that cannot be parsed gets an error result of its own.
 */
export function chooseSettlement(assembled: Assembled, ending: AttemptEnding): AttemptSettlement {
  switch (ending.kind) {
    case 'returned':
      return settleReturned(assembled);
    case 'cancelled':
      return settleCancelled(assembled.interruptedBlocks());
    case 'failed':
      return failed(ending.code);
    case 'lost':
      return { kind: 'attempt', outcome: 'lost', code: null };
    default:
      return assertNever(ending);
  }
}
