import type { StreamCase } from './stream-cases.ts';

const data = (payload: unknown): string => `data: ${JSON.stringify(payload)}\n\n`;
const chunk = (delta: unknown, finish: string | null = null): string => data({ id: 'c1', model: 'scripted', choices: [{ index: 0, delta, finish_reason: finish }] });
const calls = (...entries: object[]): string => chunk({ tool_calls: entries });
const call = (member: object, name: string | undefined, args: unknown): object => ({ ...member, type: 'function', function: { ...(name !== undefined && { name }), arguments: args } });
const DONE = 'data: [DONE]\n\n';
const END = [chunk({}, 'tool_calls'), DONE];
const Q = '{"q":1}';

const identity: StreamCase[] = [
  { name: 'no-id', rows: 'L17 B02', events: [calls(call({ index: 0 }, 'find', '')), calls(call({ index: 0 }, undefined, Q)), ...END], expected: { calls: [`|find|${Q}`] } },
  { name: 'blank-ids', rows: 'L17 B01', events: [calls(call({ index: 0, id: '' }, 'find', Q)), calls(call({ index: 1, id: '  ' }, 'read', Q)), calls(call({ index: 2, id: 'null' }, 'read', '{}')), ...END], expected: { calls: [`|find|${Q}`, `|read|${Q}`, '|read|{}'] } },
  { name: 'one-id-twice', rows: 'L18 B06', events: [calls(call({ index: 0, id: 'search:0' }, 'find', Q)), calls(call({ index: 1, id: 'search:0' }, 'find', '{"q":2}')), ...END], expected: { calls: [`search:0|find|${Q}`, 'search:0|find|{"q":2}'] } },
  { name: 'odd-id', rows: 'L19', events: [calls(call({ index: 0, id: 'functions.find:0 é' }, 'find', Q)), ...END], expected: { calls: [`functions.find:0 é|find|${Q}`] } },
  { name: 'index-zero', rows: 'L20 B03', events: [0, 1, 2].map((n) => calls(call({ index: 0, id: `c${n}` }, 'find', `{"q":${n}}`))).concat(END), expected: { calls: [0, 1, 2].map((n) => `c${n}|find|{"q":${n}}`) } },
  { name: 'index-from-one', rows: 'L20', events: [calls(call({ index: 1, id: 'a' }, 'find', Q)), ...END], expected: { calls: [`a|find|${Q}`] } },
  { name: 'no-index', rows: 'L20 B04', events: [calls(call({ id: 'a' }, 'find', Q)), calls(call({ id: 'b' }, 'read', '{"u"')), calls(call({ id: null }, undefined, ':2}')), ...END], expected: { calls: [`a|find|${Q}`, 'b|read|{"u":2}'] } },
  { name: 'impossible-index', rows: 'L20', events: [calls(call({ index: 1e9, id: 'a' }, 'find', Q)), ...END], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  {
    name: 'interleaved', rows: 'L21 L22',
    events: [...Array.from({ length: 8 }, (_, n) => calls(call({ index: n, id: `c${n}` }, 'find', ''))), ...Array.from({ length: 8 }, (_, n) => calls(call({ index: 7 - n }, undefined, '{"q":'))), ...Array.from({ length: 8 }, (_, n) => calls(call({ index: n }, undefined, `${n}}`))), ...END],
    expected: { calls: Array.from({ length: 8 }, (_, n) => `c${n}|find|{"q":${n}}`) },
  },
  { name: 'merged-chunk', rows: 'L22', events: [calls(call({ index: 0, id: 'a' }, 'find', Q), call({ index: 1, id: 'b' }, 'read', Q)), ...END], expected: { calls: [`a|find|${Q}`, `b|read|${Q}`] } },
  { name: 'name-split', rows: 'L23', events: [calls(call({ index: 0, id: 'a' }, 'fi', '')), calls(call({ index: 0 }, 'nd', '')), calls(call({ index: 0 }, '', Q)), ...END], expected: { calls: [`a|find|${Q}`] } },
  { name: 'name-missing', rows: 'L23', events: [calls(call({ index: 0, id: 'a' }, '', Q)), ...END], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'name-decorated', rows: 'L27 B08', events: [calls(call({ index: 0, id: 'a' }, 'find<|channel|>', Q)), ...END], expected: { calls: [`a|find<|channel|>|${Q}`] } },
  { name: 'arguments-empty', rows: 'L24', events: [calls(call({ index: 0, id: 'a' }, 'find', '')), calls(call({ index: 1, id: 'b' }, 'find', null)), ...END], expected: { calls: ['a|find|', 'b|find|'] } },
  { name: 'arguments-object', rows: 'L25', events: [calls(call({ index: 0, id: 'a' }, 'find', { q: 1 })), ...END], expected: { calls: [`a|find|${Q}`] } },
  { name: 'arguments-one-by-one', rows: 'L26', events: [calls(call({ index: 0, id: 'a' }, 'find', '')), ...[...Q].map((character) => calls(call({ index: 0 }, undefined, character))), ...END], expected: { calls: [`a|find|${Q}`] } },
  { name: 'call-after-finish', rows: 'L16', events: [calls(call({ index: 0, id: 'a' }, 'find', Q)), chunk({}, 'tool_calls'), calls(call({ index: 0, id: 'a' }, 'find', Q)), DONE], expected: { calls: [`a|find|${Q}`] } },
  { name: 'more-after-finish', rows: 'L16', events: [calls(call({ index: 0, id: 'a' }, 'find', Q)), chunk({}, 'tool_calls'), calls(call({ index: 1, id: 'b' }, 'find', Q)), DONE], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
];

const ends: StreamCase[] = [
  { name: 'no-end', rows: 'L01 B21', events: [chunk({ content: 'partial' })], expected: { error: 'MODEL_STREAM_CUT' } },
  { name: 'done-without-finish', rows: 'L15', events: [chunk({ content: 'partial' }), DONE], expected: { error: 'MODEL_STREAM_CUT' } },
  { name: 'length-in-call', rows: 'L13', events: [calls(call({ index: 0, id: 'a' }, 'find', '{"q')), chunk({}, 'length'), DONE], expected: { error: 'MODEL_OUTPUT_TRUNCATED' } },
  { name: 'stop-with-calls', rows: 'L14', events: [calls(call({ index: 0, id: 'a' }, 'find', Q)), chunk({}, 'stop'), DONE], expected: { calls: [`a|find|${Q}`] } },
  { name: 'two-finishes', rows: 'L15', events: [calls(call({ index: 0, id: 'a' }, 'find', Q)), chunk({}, 'tool_calls'), chunk({}, 'stop'), DONE], expected: { calls: [`a|find|${Q}`] } },
  { name: 'calls-promised', rows: 'L15', events: [chunk({ content: 'I call.' }, 'tool_calls'), DONE], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'in-band-error', rows: 'L11', events: [chunk({ content: 'a' }), data({ error: { message: 'busy', type: 'overloaded_error' } }), DONE], expected: { error: 'MODEL_OVERLOADED' } },
  { name: 'finish-error', rows: 'L11', events: [chunk({ content: 'a' }, 'error'), DONE], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'finish-out-of-resources', rows: 'L12', events: [chunk({ content: 'a' }, 'insufficient_system_resource'), DONE], expected: { error: 'MODEL_OVERLOADED' } },
  { name: 'finish-filter', rows: 'L12 B19', events: [chunk({ content: '' }, 'content_filter'), DONE], expected: { error: 'MODEL_CONTENT_FILTERED' } },
  { name: 'late-filter', rows: 'L47', events: [chunk({ content: 'shown' }, 'stop'), chunk({}, 'content_filter'), DONE], expected: { error: 'MODEL_CONTENT_FILTERED' } },
  { name: 'empty', rows: 'L30 B19', events: [chunk({ content: '' }, 'stop'), DONE], expected: { error: 'MODEL_EMPTY_ANSWER' } },
  { name: 'only-reasoning', rows: 'L30', events: [chunk({ reasoning_content: 'hm' }), chunk({}, 'stop'), DONE], expected: { error: 'MODEL_EMPTY_ANSWER' } },
  { name: 'refusal', rows: 'L30', events: [chunk({ refusal: 'I cannot.' }), chunk({}, 'stop'), DONE], expected: { error: 'MODEL_CONTENT_FILTERED' } },
  { name: 'model-changes', rows: 'L38', events: [chunk({ content: 'a' }), data({ id: 'c1', model: 'other', choices: [{ index: 0, delta: { content: 'b' }, finish_reason: 'stop' }] }), DONE], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'not-json', rows: 'L36', events: [chunk({ content: 'a' }), 'data: {"choices": [\n\n', DONE], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'two-json-in-one', rows: 'L36', events: ['data: {"choices":[]}{"choices":[]}\n\n', DONE], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
  { name: 'endless-repetition', rows: 'L06', events: [...Array.from({ length: 3_000 }, () => chunk({ content: 'again ' })), chunk({}, 'stop'), DONE], expected: { error: 'MODEL_PROTOCOL_ERROR' } },
];

const shapes: StreamCase[] = [
  { name: 'usage-without-choices', rows: 'L32 L33', events: [data({ usage: { prompt_tokens: 1, completion_tokens: 1 } }), chunk({ content: 'a' }, 'stop'), data({ choices: [], usage: { prompt_tokens: 2, completion_tokens: 3 } }), DONE], expected: { text: 'a' } },
  { name: 'azure', rows: 'L47', events: [data({ id: '', model: '', choices: [], prompt_filter_results: [] }), data({ choices: [{ index: 0, finish_reason: null }] }), chunk({ content: 'a' }, 'stop'), DONE], expected: { text: 'a' } },
  { name: 'text-and-calls', rows: 'L29', events: [chunk({ content: 'I read. ' }), calls(call({ index: 0, id: 'a' }, 'read', Q)), chunk({ content: 'Done.' }), ...END], expected: { text: 'I read. Done.', calls: [`a|read|${Q}`] } },
  { name: 'reasoning-twice', rows: 'L31', events: [chunk({ reasoning: 'a', reasoning_content: 'a', tool_calls: [] }), chunk({ content: 'b' }, 'stop'), DONE], expected: { text: 'b', reasoning: 'a' } },
  { name: 'carriage-returns', rows: 'L35', events: [chunk({ content: 'a\u2028b' }).replaceAll('\n', '\r'), `data:${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\r\n\r\n`, 'data:[DONE]\n\n'], expected: { text: 'a\u2028b' } },
  { name: 'after-done', rows: 'L35 L52', events: [chunk({ content: 'a' }, 'stop'), DONE, chunk({ content: 'late' })], expected: { text: 'a' } },
  { name: 'comments', rows: 'L05', events: [': PROCESSING\n\n', chunk({ content: 'a' }), ': PROCESSING\n\n', chunk({}, 'stop'), DONE], expected: { text: 'a' } },
];

const written: StreamCase[] = [
  { name: 'call-as-text', rows: 'L28', events: [chunk({ content: '<tool_call>{"name":"find","arguments":{"q":1}}</tool_call>' }, 'stop'), DONE], expected: { text: '<tool_call>{"name":"find","arguments":{"q":1}}</tool_call>' } },
  { name: 'qwen-coder', rows: 'L28 B11', model: 'qwen3-coder-30b', events: [chunk({ content: '<tool_call>\n<func' }), chunk({ content: 'tion=find>\n<parameter=q>\n1\n</para' }), chunk({ content: 'meter>\n</function>\n</tool_call>' }, 'stop'), DONE], expected: { calls: ['|find|{"q":"1"}'] } },
  { name: 'hermes', rows: 'L28 B11', model: 'qwen3-32b', events: [chunk({ content: '<think>hm</think>\n<tool' }), chunk({ content: '_call>\n{"name":"find","arguments":{"q":1}}\n</tool_call>' }, 'stop'), DONE], expected: { text: '\n', reasoning: 'hm', calls: [`|find|${Q}`] } },
  { name: 'kimi-tokens', rows: 'L28 B11', model: 'moonshotai/kimi-k2', events: [chunk({ content: '<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{"q":1}<|tool_call_end|><|tool_calls_section_end|>' }, 'stop'), DONE], expected: { text: '', calls: [`functions.find:0|find|${Q}`] } },
  { name: 'deepseek-tokens', rows: 'L28 B11', model: 'deepseek-r1', events: [chunk({ content: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>find<｜tool▁sep｜>{"q":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>' }, 'stop'), DONE], expected: { text: '', calls: [`|find|${Q}`] } },
  { name: 'harmony-channels', rows: 'L28 B11', model: 'openai/gpt-oss-120b', events: [chunk({ content: '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.find<|message|>{"q":1}<|call|>' }, 'stop'), DONE], expected: { text: '', reasoning: 'hm', calls: [`|find|${Q}`] } },
  { name: 'fenced-json', rows: 'L28 B10', model: 'llama-3.3-70b', events: [chunk({ content: '```json\n{"name":"find","parameters":{"q":1}}\n```' }, 'stop'), DONE], expected: { text: '', calls: [`|find|${Q}`] } },
  { name: 'naked-json', rows: 'L28 B10', model: 'gemma-3-27b', events: [chunk({ content: '{"name":"find","arguments":{"q":1}}' }, 'stop'), DONE], expected: { text: '', calls: [`|find|${Q}`] } },
  { name: 'both-ways', rows: 'L28', model: 'qwen3-32b', events: [chunk({ content: '<tool_call>{"name":"find","arguments":{"q":1}}</tool_call>' }), calls(call({ index: 0, id: 'a' }, 'find', Q)), ...END], expected: { text: '', calls: [`a|find|${Q}`] } },
];

/** Chat completions as servers have sent them. */
export const CHAT_CASES: readonly StreamCase[] = [...identity, ...ends, ...shapes, ...written];
