import type { StreamCase } from './stream-cases.ts';
import { MESSAGES_WRITER } from './wire-writers.ts';

const event = (type: string, members: object = {}): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const START = event('message_start', { message: { usage: { input_tokens: 5, output_tokens: 1 } } });
const useAt = (index: number, id = 'toolu_1', input: object = {}): string => event('content_block_start', { index, content_block: { type: 'tool_use', id, name: 'find', input } });
const json = (index: number, text: string): string => event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: text } });
const stop = (index: number): string => event('content_block_stop', { index });
const reason = (word: string): string => event('message_delta', { delta: { stop_reason: word }, usage: { output_tokens: 9 } });
const STOP = event('message_stop');
const Q = '{"q":1}';

/** Messages streams as servers have sent them. */
export const MESSAGES_CASES: readonly StreamCase[] = [
  { name: 'messages-text', rows: 'L29', events: MESSAGES_WRITER.events({ reasoning: ['hm'], text: ['He', 'llo'], finish: 'stop' }), expected: { text: 'Hello', reasoning: 'hm' } },
  { name: 'messages-calls', rows: 'L21', events: [START, useAt(0), useAt(1, 'toolu_2'), json(1, '{"q":'), json(0, Q), json(1, '2}'), stop(0), stop(1), reason('tool_use'), STOP], expected: { calls: [`toolu_1|find|${Q}`, 'toolu_2|find|{"q":2}'] } },
  { name: 'messages-pings', rows: 'L05', events: [event('ping'), START, event('ping'), ...MESSAGES_WRITER.events({ text: ['a'], finish: 'stop' }).slice(1)], expected: { text: 'a' } },
  { name: 'messages-whole-input', rows: 'L25', events: [START, useAt(0, 'toolu_1', { q: 1 }), stop(0), reason('tool_use'), STOP], expected: { calls: [`toolu_1|find|${Q}`] } },
  { name: 'messages-no-input', rows: 'L24', events: [START, useAt(0), json(0, ''), stop(0), reason('tool_use'), STOP], expected: { calls: ['toolu_1|find|'] } },
  { name: 'messages-overloaded', rows: 'L46', events: [START, MESSAGES_WRITER.error('overloaded_error', 'Overloaded')], expected: { error: 'MODEL_OVERLOADED' } },
  { name: 'messages-no-stop', rows: 'L46 L01', events: [START, useAt(0), json(0, Q), stop(0), reason('tool_use')], expected: { error: 'MODEL_STREAM_CUT' } },
  { name: 'messages-no-reason', rows: 'L46', events: [START, useAt(0), json(0, Q), stop(0), STOP], expected: { error: 'MODEL_STREAM_CUT' } },
  { name: 'messages-open-block', rows: 'L46', events: [START, useAt(0), json(0, '{"q'), reason('tool_use'), STOP], expected: { error: 'MODEL_STREAM_CUT' } },
  { name: 'messages-max-tokens', rows: 'L13', events: [START, useAt(0), json(0, '{"q'), stop(0), reason('max_tokens'), STOP], expected: { error: 'MODEL_OUTPUT_TRUNCATED' } },
  { name: 'messages-refusal', rows: 'L12', events: MESSAGES_WRITER.events({ text: ['no'], finish: 'content-filter' }), expected: { error: 'MODEL_CONTENT_FILTERED' } },
  { name: 'messages-strange-reason', rows: 'L12', events: [...MESSAGES_WRITER.events({ text: ['a'], finish: 'stop' }).slice(0, -2), reason('pause_turn'), STOP], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'messages-two-answers', rows: 'L38', events: [START, START, STOP], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'messages-index-twice', rows: 'L20', events: [START, useAt(0), json(0, Q), useAt(0, 'toolu_2'), stop(0), reason('tool_use'), STOP], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'messages-wrong-delta', rows: 'L20', events: [START, useAt(0), event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'a' } }), stop(0), reason('tool_use'), STOP], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'messages-empty', rows: 'L30', events: [START, reason('end_turn'), STOP], expected: { error: 'MODEL_EMPTY_ANSWER' } },
  { name: 'messages-redacted', rows: 'L31', events: [START, event('content_block_start', { index: 0, content_block: { type: 'redacted_thinking', data: 'sealed' } }), stop(0), event('content_block_start', { index: 1, content_block: { type: 'text', text: 'a' } }), stop(1), reason('end_turn'), STOP], expected: { text: 'a' } },
];
