import { describe, expect, it } from 'vitest';
import { ToolCallId, type ModelMessage } from '#contracts';
import { vendorOf, type ModelRequest } from '#domain';
import { API_KEY, ask, REQUEST, GOOD_STREAM, start } from '../testing/ask.ts';
import { chunked, plain } from '../testing/raw-server.ts';

/** Stands for the asked server and model. */
const OWN = 'own';

describe('the request', () => {
  const toolCallId = (digit: number): ToolCallId => ToolCallId.parse(`call_${String(digit).repeat(26)}`);
  const bodyOf = async (request: ModelRequest): Promise<Record<string, unknown>> => {
    const { server, model } = await start([chunked(GOOD_STREAM)]);
    const messages = request.messages.map((message) => (message.role === 'assistant' && message.vendor === OWN ? { ...message, vendor: vendorOf(model, request.model) } : message));
    await ask(model, { ...request, messages });
    return JSON.parse(server.bodies[0] ?? '') as Record<string, unknown>;
  };

  it('holds what is needed and nothing else', async () => {
    const { server, model } = await start([chunked(GOOD_STREAM)]);
    await ask(model);
    expect(JSON.parse(server.bodies[0] ?? '')).toEqual({ model: 'scripted', messages: [{ role: 'user', content: 'question' }], max_tokens: 100, stream: true, stream_options: { include_usage: true } });
    expect(server.heads[0]).toContain('POST /v1/chat/completions HTTP/1.1');
    expect(server.heads[0]).toContain(`authorization: Bearer ${API_KEY}`);
  });

  it('[Q-24] [L19] [B01] echoes provider ids byte for byte, ours where there is none, and results in call order', async () => {
    const messages: ModelMessage[] = [
      {
        role: 'assistant',
        content: '',
        reasoning: { text: 'why', field: 'reasoning' },
        vendor: OWN,
        toolCalls: [
          { toolCallId: toolCallId(1), providerCallId: 'functions.search:0 é', name: 'find', arguments: '{"q":1}' },
          { toolCallId: toolCallId(2), providerCallId: 'functions.search:0 é', name: 'find', arguments: '' },
          { toolCallId: toolCallId(3), providerCallId: null, name: 'find', arguments: '{"q' },
          { toolCallId: toolCallId(4), providerCallId: '', name: 'find', arguments: '{}' },
        ],
      },
      ...[4, 2, 1, 3].map((digit): ModelMessage => ({ role: 'tool', toolCallId: toolCallId(digit), providerCallId: digit < 3 ? 'functions.search:0 é' : null, name: 'find', content: `r${digit}`, isError: false })),
      { role: 'assistant', content: 'done' },
    ];
    const wire = (await bodyOf({ ...REQUEST, messages }))['messages'] as Record<string, unknown>[];
    expect(wire[0]).toEqual({
      role: 'assistant',
      content: null,
      reasoning: 'why',
      tool_calls: [
        { id: 'functions.search:0 é', type: 'function', function: { name: 'find', arguments: '{"q":1}' } },
        { id: 'functions.search:0 é', type: 'function', function: { name: 'find', arguments: '{}' } },
        { id: toolCallId(3), type: 'function', function: { name: 'find', arguments: '{"q' } },
        { id: toolCallId(4), type: 'function', function: { name: 'find', arguments: '{}' } },
      ],
    });
    expect(wire.slice(1, 5).map((message) => [message['tool_call_id'], message['content']])).toEqual([
      ['functions.search:0 é', 'r1'],
      ['functions.search:0 é', 'r2'],
      [toolCallId(3), 'r3'],
      [toolCallId(4), 'r4'],
    ]);
    expect(wire[5]).toEqual({ role: 'assistant', content: 'done' });
  });

  it.each(['openai-compatible:other.example/scripted', undefined])('[B17] sends nothing of another vendor (%s) but text, calls by our ids and results', async (vendor) => {
    const messages: ModelMessage[] = [
      { role: 'assistant', content: 'said', vendor, reasoning: { text: 'private', field: 'reasoning' }, replay: { thinking: ['private'] }, toolCalls: [{ toolCallId: toolCallId(1), providerCallId: 'theirs', name: 'find', arguments: '{}' }] },
      { role: 'tool', toolCallId: toolCallId(1), providerCallId: 'theirs', name: 'find', content: 'r', isError: false },
    ];
    expect((await bodyOf({ ...REQUEST, messages }))['messages']).toEqual([
      { role: 'assistant', content: 'said', tool_calls: [{ id: toolCallId(1), type: 'function', function: { name: 'find', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: toolCallId(1), content: 'r' },
    ]);
  });

  it('follows the catalogue: reasoning on every assistant message, other name for the token bound', async () => {
    const messages: ModelMessage[] = [{ role: 'assistant', content: 'done' }];
    expect((await bodyOf({ ...REQUEST, model: 'moonshotai/kimi-k2-thinking', messages }))['messages']).toEqual([{ role: 'assistant', content: 'done', reasoning_content: ' ' }]);
    expect(await bodyOf({ ...REQUEST, model: 'gpt-5-mini' })).toMatchObject({ max_completion_tokens: 100 });
  });

  it('describes tools', async () => {
    const tools = [{ name: 'find', description: 'Finds.', parameters: { type: 'object' } }];
    expect((await bodyOf({ ...REQUEST, tools }))['tools']).toEqual([{ type: 'function', function: tools[0] }]);
  });

  it('is sent once more without stream_options to a server that refuses it, and then always so', async () => {
    const refusal = plain(400, JSON.stringify({ error: { message: 'Unknown parameter: stream_options' } }));
    const { server, model } = await start([refusal, chunked(GOOD_STREAM)]);
    expect((await ask(model)).finish).toBe('stop');
    expect((await ask(model)).finish).toBe('stop');
    expect(server.bodies.map((body) => body.includes('stream_options'))).toEqual([true, false, false]);
    const stubborn = await start([refusal]);
    expect((await ask(stubborn.model)).error?.code).toBe('MODEL_REQUEST_REFUSED');
    expect(stubborn.server.bodies).toHaveLength(2);
  });
});
