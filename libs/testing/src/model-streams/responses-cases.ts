import type { StreamCase } from './stream-cases.ts';
import { RESPONSES_WRITER } from './wire-writers.ts';

const event = (type: string, members: object = {}): string => `data: ${JSON.stringify({ type: `response.${type}`, ...members })}\n\n`;
const item = (members: object): object => ({ type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'find', arguments: '', ...members });
const CREATED = event('created', { response: { id: 'r1' } });
const ADDED = event('output_item.added', { output_index: 0, item: item({}) });
const COMPLETED = event('completed', { response: { status: 'completed', output: [] } });
const doneWith = (args: string, members: object = {}): string => event('output_item.done', { output_index: 0, item: item({ arguments: args, ...members }) });
const delta = (text: string): string => event('function_call_arguments.delta', { output_index: 0, delta: text });
const Q = '{"q":1}';

/** Responses streams as servers have sent them. */
export const RESPONSES_CASES: readonly StreamCase[] = [
  { name: 'responses-text', rows: 'L29', events: RESPONSES_WRITER.events({ reasoning: ['hm'], text: ['He', 'llo'], finish: 'stop' }), expected: { text: 'Hello', reasoning: 'hm' } },
  { name: 'responses-calls', rows: 'L21', events: RESPONSES_WRITER.events({ calls: [{ id: 'a', name: 'find', pieces: ['{"q"', ':1}'] }, { id: 'b', name: 'read', pieces: [Q] }], finish: 'tool-calls' }), expected: { calls: [`a|find|${Q}`, `b|read|${Q}`] } },
  { name: 'responses-completed-first', rows: 'L45', events: [COMPLETED], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'responses-no-end', rows: 'L45 L01', events: [CREATED, ADDED, delta(Q), doneWith(Q)], expected: { error: 'MODEL_STREAM_CUT' } },
  { name: 'responses-never-done', rows: 'L45', events: [CREATED, ADDED, delta(Q), COMPLETED], expected: { error: 'MODEL_STREAM_CUT' } },
  { name: 'responses-only-done', rows: 'L45', events: [CREATED, ADDED, doneWith(Q), COMPLETED], expected: { calls: [`c1|find|${Q}`] } },
  { name: 'responses-other-arguments', rows: 'L45', events: [CREATED, ADDED, delta(Q), doneWith('{"q":2}'), COMPLETED], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'responses-other-id', rows: 'L45 L39', events: [CREATED, ADDED, doneWith(Q, { call_id: 'c2' }), COMPLETED], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'responses-new-version', rows: 'L45', events: [CREATED, ADDED, delta(Q), doneWith(Q, { id: 'fc_other' }), COMPLETED], expected: { calls: [`c1|find|${Q}`] } },
  { name: 'responses-call-from-nowhere', rows: 'L45', events: [CREATED, event('completed', { response: { output: [item({ arguments: Q })] } })], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'responses-incomplete', rows: 'L45 L13', events: [CREATED, ADDED, delta('{"q'), event('incomplete', { response: { incomplete_details: { reason: 'max_output_tokens' } } })], expected: { error: 'MODEL_OUTPUT_TRUNCATED' } },
  { name: 'responses-incomplete-text', rows: 'L45', events: RESPONSES_WRITER.events({ text: ['half'], finish: 'max-tokens' }), expected: { text: 'half' } },
  { name: 'responses-failed', rows: 'L45', events: [CREATED, event('failed', { response: { error: { code: 'rate_limit_exceeded', message: 'slow down' } } })], expected: { error: 'MODEL_RATE_LIMITED' } },
  { name: 'responses-error', rows: 'L11 L45', events: [CREATED, RESPONSES_WRITER.error('server_error', 'oops')], expected: { error: 'MODEL_OVERLOADED' } },
  { name: 'responses-refusal', rows: 'L30', events: [CREATED, event('refusal.delta', { output_index: 0, delta: 'no' }), COMPLETED], expected: { error: 'MODEL_CONTENT_FILTERED' } },
  { name: 'responses-empty', rows: 'L30 L45', events: [CREATED, COMPLETED], expected: { error: 'MODEL_EMPTY_ANSWER' } },
  { name: 'responses-same-place', rows: 'L20', events: [CREATED, ADDED, ADDED, doneWith(Q), COMPLETED], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
];
