/** An answer in pieces as a vendor would stream it. */
export interface WireAnswer {
  reasoning?: readonly string[];
  text?: readonly string[];
  calls?: readonly { id: string; name: string; pieces: readonly string[] }[];
  finish: 'stop' | 'tool-calls' | 'max-tokens' | 'content-filter';
  inputTokens?: number;
  outputTokens?: number;
  model?: string;
  id?: string;
}

/** How one protocol puts an answer into server-sent events. Events are whole, with their blank line; the last is the end marker. */
export interface WireWriter {
  protocol: 'openai-compatible' | 'openai-responses' | 'anthropic';
  events(answer: WireAnswer): string[];
  /** One more piece of text, after the events of an answer without its end. */
  textPiece(text: string): string;
  heartbeat: string;
  error(type: string, message: string): string;
}

const data = (payload: unknown): string => `data: ${JSON.stringify(payload)}\n\n`;
const named = (payload: { type: string; [member: string]: unknown }): string => `event: ${payload.type}\n${data(payload)}`;

const CHAT_FINISH = { stop: 'stop', 'tool-calls': 'tool_calls', 'max-tokens': 'length', 'content-filter': 'content_filter' } as const;

const chatChunk = (delta: object, finish: string | null = null, { id = 'chatcmpl-1', model = 'scripted' }: Pick<WireAnswer, 'id' | 'model'> = {}): string =>
  data({ id, object: 'chat.completion.chunk', model, choices: [{ index: 0, delta, finish_reason: finish }] });

export const CHAT_WRITER: WireWriter = {
  protocol: 'openai-compatible',
  events: (answer) => [
    chatChunk({ role: 'assistant', content: '' }, null, answer),
    ...(answer.reasoning ?? []).map((text) => chatChunk({ reasoning_content: text }, null, answer)),
    ...(answer.text ?? []).map((text) => chatChunk({ content: text }, null, answer)),
    ...(answer.calls ?? []).flatMap(({ id, name, pieces }, index) => [
      chatChunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }, null, answer),
      ...pieces.map((piece) => chatChunk({ tool_calls: [{ index, function: { arguments: piece } }] }, null, answer)),
    ]),
    chatChunk({}, CHAT_FINISH[answer.finish], answer),
    data({ id: answer.id ?? 'chatcmpl-1', choices: [], usage: { prompt_tokens: answer.inputTokens ?? 7, completion_tokens: answer.outputTokens ?? 3 } }),
    'data: [DONE]\n\n',
  ],
  textPiece: (text) => chatChunk({ content: text }),
  heartbeat: ': PROCESSING\n\n',
  error: (type, message) => data({ error: { type, message } }),
};

const RESPONSES_END = { stop: 'completed', 'tool-calls': 'completed', 'max-tokens': 'incomplete', 'content-filter': 'incomplete' } as const;
const INCOMPLETE_REASON = { 'max-tokens': 'max_output_tokens', 'content-filter': 'content_filter' } as const;

function responsesItems(answer: WireAnswer): { item: Record<string, unknown>; deltas: string[]; deltaType: string }[] {
  const reasoning = answer.reasoning === undefined ? [] : [{ item: { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: answer.reasoning.join('') }], encrypted_content: 'sealed' }, deltas: [...answer.reasoning], deltaType: 'reasoning_summary_text' }];
  const text = answer.text === undefined ? [] : [{ item: { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: answer.text.join('') }] }, deltas: [...answer.text], deltaType: 'output_text' }];
  const calls = (answer.calls ?? []).map(({ id, name, pieces }, index) => ({ item: { type: 'function_call', id: `fc_${index}`, call_id: id, name, arguments: pieces.join('') }, deltas: [...pieces], deltaType: 'function_call_arguments' }));
  return [...reasoning, ...text, ...calls];
}

export const RESPONSES_WRITER: WireWriter = {
  protocol: 'openai-responses',
  events: (answer) => {
    const items = responsesItems(answer);
    const type = `response.${RESPONSES_END[answer.finish]}`;
    const reason = answer.finish === 'max-tokens' || answer.finish === 'content-filter' ? { incomplete_details: { reason: INCOMPLETE_REASON[answer.finish] } } : {};
    const usage = { input_tokens: answer.inputTokens ?? 7, output_tokens: answer.outputTokens ?? 3 };
    return [
      named({ type: 'response.created', response: { id: 'resp_1', model: answer.model ?? 'scripted' } }),
      ...items.flatMap(({ item, deltas, deltaType }, position) => {
        const at = { output_index: position, item_id: item['id'] };
        const hollow = { ...item, ...(item['type'] === 'function_call' ? { arguments: '' } : { content: [], summary: [] }) };
        const done = item['type'] === 'function_call' ? [named({ type: 'response.function_call_arguments.done', ...at, arguments: item['arguments'] })] : [];
        return [
          named({ type: 'response.output_item.added', ...at, item: hollow }),
          ...deltas.map((delta) => named({ type: `response.${deltaType}.delta`, ...at, delta })),
          ...done,
          named({ type: 'response.output_item.done', ...at, item }),
        ];
      }),
      named({ type, response: { id: 'resp_1', status: RESPONSES_END[answer.finish], output: items.map(({ item }) => item), usage, ...reason } }),
    ];
  },
  textPiece: (text) => named({ type: 'response.output_text.delta', output_index: 0, delta: text }),
  heartbeat: named({ type: 'keepalive' }),
  error: (type, message) => named({ type: 'error', code: type, message }),
};

const STOP_REASONS = { stop: 'end_turn', 'tool-calls': 'tool_use', 'max-tokens': 'max_tokens', 'content-filter': 'refusal' } as const;

const messageBlock = (index: number, block: object, deltas: object[]): string[] => [
  named({ type: 'content_block_start', index, content_block: block }),
  ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })),
  named({ type: 'content_block_stop', index }),
];

export const MESSAGES_WRITER: WireWriter = {
  protocol: 'anthropic',
  events: (answer) => {
    const blocks: [object, object[]][] = [
      ...(answer.reasoning === undefined ? [] : [[{ type: 'thinking', thinking: '', signature: '' }, [...answer.reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })), { type: 'signature_delta', signature: 'sealed' }]] as [object, object[]]]),
      ...(answer.text === undefined ? [] : [[{ type: 'text', text: '' }, answer.text.map((text) => ({ type: 'text_delta', text }))] as [object, object[]]]),
      ...(answer.calls ?? []).map(({ id, name, pieces }): [object, object[]] => [{ type: 'tool_use', id, name, input: {} }, pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json }))]),
    ];
    return [
      named({ type: 'message_start', message: { id: 'msg_1', model: answer.model ?? 'scripted', usage: { input_tokens: answer.inputTokens ?? 7, output_tokens: 1 } } }),
      ...blocks.flatMap(([block, deltas], index) => messageBlock(index, block, deltas)),
      named({ type: 'message_delta', delta: { stop_reason: STOP_REASONS[answer.finish] }, usage: { output_tokens: answer.outputTokens ?? 3 } }),
      named({ type: 'message_stop' }),
    ];
  },
  textPiece: (text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  heartbeat: named({ type: 'ping' }),
  error: (type, message) => named({ type: 'error', error: { type, message } }),
};

export const WIRE_WRITERS: readonly WireWriter[] = [CHAT_WRITER, RESPONSES_WRITER, MESSAGES_WRITER];
