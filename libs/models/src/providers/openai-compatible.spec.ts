import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ToolCallId, QuaestorError, TOOL_CALLS_PER_TURN_MAX, type ErrorCode, type ModelChunk, type ModelMessage, type StreamBlock, type Usage } from '#contracts';
import { BlockAssembler, type ModelRequest } from '#domain';
import { chunked, delta, DONE, event, plain, startRawServer, STREAM_HEAD, untilClose, type RawAnswer, type RawServer } from '../testing/raw-server.ts';
import { OpenAiCompatibleModel, type OpenAiCompatibleOptions } from './openai-compatible.ts';

const API_KEY = 'sk-canary-0123456789abcdef';
const REQUEST: ModelRequest = { model: 'scripted', messages: [{ role: 'user', content: 'question' }], tools: [], maxOutputTokens: 100 };
const never = new AbortController().signal;

interface Answer {
  chunks: ModelChunk[];
  blocks: StreamBlock[];
  usage: Usage | undefined;
  finish: string | undefined;
  error: QuaestorError | undefined;
}

const start = async (answers: RawAnswer[], options: Partial<OpenAiCompatibleOptions> = {}): Promise<{ server: RawServer; model: OpenAiCompatibleModel }> => {
  const server = await startRawServer(...answers);
  const model = new OpenAiCompatibleModel({ baseUrl: server.baseUrl, apiKey: API_KEY, idleTimeoutMs: 5_000, callTimeoutMs: 10_000, ...options });
  onTestFinished(() => server.close());
  return { server, model };
};

const ask = async (model: OpenAiCompatibleModel, request = REQUEST, signal = never): Promise<Answer> => {
  const chunks: ModelChunk[] = [];
  let error: QuaestorError | undefined;
  try {
    await model.stream(request, (chunk) => chunks.push(chunk), signal);
  } catch (thrown) {
    if (!(thrown instanceof QuaestorError)) throw thrown;
    error = thrown;
  }
  const assembler = new BlockAssembler();
  for (const chunk of chunks) assembler.push(chunk);
  return { chunks, blocks: assembler.blocks(), usage: assembler.usage, finish: assembler.finished ? assembler.finish.kind : undefined, error };
};

const answerOf = async (...answers: RawAnswer[]): Promise<Answer> => ask((await start(answers)).model);

const call = (member: object, functionMember: object): object => ({ tool_calls: [{ ...member, type: 'function', function: functionMember }] });
const callsIn = ({ blocks }: Answer): string[] => blocks.flatMap((block) => (block.type === 'tool-call' ? [`${block.id}|${block.name}|${block.arguments}`] : []));
const textIn = ({ blocks }: Answer): string => blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');

const GOOD_STREAM = [
  ': a comment\n\n',
  delta({ role: 'assistant', content: '', reasoning_content: 'think' }),
  delta({ content: 'héllo ✓ ' }),
  delta({ content: '🜁 world' }),
  delta({}, 'stop'),
  event({ id: 'chatcmpl-1', choices: [], usage: { prompt_tokens: 11, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 }, completion_tokens_details: { reasoning_tokens: 1 } } }),
  DONE,
];
const GOOD_TEXT = 'héllo ✓ 🜁 world';

describe('a good stream', () => {
  it('gives blocks in order, usage and one finish', async () => {
    const answer = await answerOf(chunked(GOOD_STREAM));
    expect(answer.error).toBeUndefined();
    expect(answer.blocks).toEqual([
      { type: 'reasoning', text: 'think', field: 'reasoning_content' },
      { type: 'text', text: GOOD_TEXT },
    ]);
    expect(answer.usage).toEqual({ inputTokens: 11, outputTokens: 4, cacheReadTokens: 3, reasoningTokens: 1 });
    expect(answer.chunks.map((chunk) => chunk.type)).toEqual(['block-start', 'reasoning-delta', 'block-start', 'text-delta', 'text-delta', 'usage', 'finish']);
  });

  it('uses kept connections again', async () => {
    const ports = new Set<number | undefined>();
    const { model } = await start([(socket, body) => (ports.add(socket.remotePort), chunked(GOOD_STREAM)(socket, body))]);
    for (let round = 0; round < 8; round++) expect((await ask(model)).error).toBeUndefined();
    // The pool may open a second one when a call starts in the very turn in which the last one ended.
    expect(ports.size).toBeLessThanOrEqual(2);
  });

  it('succeeds after [DONE] though the server keeps the response open, or breaks it', async () => {
    expect(await answerOf(chunked(GOOD_STREAM, false))).toMatchObject({ error: undefined, finish: 'stop' });
    const broken: RawAnswer = (socket, body) => {
      chunked(GOOD_STREAM, false)(socket, body);
      socket.end();
    };
    expect(await answerOf(broken)).toMatchObject({ error: undefined, finish: 'stop' });
  });

  it('ignores what follows [DONE]', async () => {
    expect(textIn(await answerOf(chunked([...GOOD_STREAM, delta({ content: 'late' })])))).toBe(GOOD_TEXT);
  });
});

describe('[Q-05] a stream that is cut', () => {
  const bytes = Buffer.from(GOOD_STREAM.join(''));
  const finishEnd = bytes.indexOf('"finish_reason":"stop"}]}') + '"finish_reason":"stop"}]}'.length;

  it('at every byte offset with the connection closed: throws, or is complete', async () => {
    const { server, model } = await start([]);
    for (let offset = 0; offset <= bytes.length; offset++) {
      server.answers = [untilClose(bytes.subarray(0, offset))];
      const answer = await ask(model);
      if (answer.error === undefined) expect([offset >= finishEnd, textIn(answer), answer.finish]).toEqual([true, GOOD_TEXT, 'stop']);
      else expect([offset, answer.finish, answer.error.retryable]).toEqual([offset, undefined, true]);
    }
    expect(server.bodies.length).toBe(bytes.length + 1);
  });

  it('at every byte offset of a chunked body: throws unless [DONE] was there', async () => {
    const { server, model } = await start([]);
    for (let offset = 1; offset <= bytes.length; offset++) {
      server.answers = [
        (socket, body) => {
          chunked([bytes.subarray(0, offset)], false)(socket, body);
          socket.end();
        },
      ];
      const answer = await ask(model);
      expect([offset, answer.error === undefined]).toEqual([offset, offset === bytes.length]);
    }
  });

  it('by a reset', async () => {
    const answer = await answerOf((socket) => {
      socket.write(`${STREAM_HEAD}\r\n${delta({ content: 'partial' })}`, () => setImmediate(() => socket.resetAndDestroy()));
    });
    expect(answer.error?.code).toBe('MODEL_STREAM_CUT');
    expect(answer.error?.details).toMatchObject({ accepted: true });
  });

  it('reports the usage it knew all the same', async () => {
    const answer = await answerOf(untilClose(delta({ content: 'a' }), event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } })));
    expect(answer.error?.code).toBe('MODEL_STREAM_CUT');
    expect(answer.usage).toEqual({ inputTokens: 5, outputTokens: 1 });
  });
});

describe('framing', () => {
  it('[Q-31] gives the same chunks however the bytes are split, with LF, CRLF or CR', async () => {
    const { server, model } = await start([]);
    const whole = (await (async () => ((server.answers = [chunked(GOOD_STREAM)]), ask(model)))()).chunks;
    const splitAt = fc.uniqueArray(fc.nat(Buffer.byteLength(GOOD_STREAM.join('')) - 1), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(splitAt, fc.constantFrom('\n', '\r\n', '\r'), async (offsets, lineEnd) => {
        const bytes = Buffer.from(GOOD_STREAM.join('').replaceAll('\n', lineEnd));
        const cuts = [0, ...offsets.sort((left, right) => left - right), bytes.length];
        server.answers = [chunked(cuts.slice(1).map((end, position) => bytes.subarray(cuts[position], end)).filter((part) => part.length > 0))];
        const answer = await ask(model);
        expect(answer.error).toBeUndefined();
        expect(answer.chunks).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  it('takes single bytes, a BOM, no space after the colon, and U+2028 in text', async () => {
    const source = `\uFEFF${delta({ content: 'a\u2028b\u0085c' }).replace('data: ', 'data:')}${delta({}, 'stop')}${DONE}`;
    const answer = await answerOf((socket) => {
      socket.write(`${STREAM_HEAD}connection: close\r\n\r\n`);
      for (const byte of Buffer.from(source)) socket.write(Buffer.from([byte]));
      socket.end();
    });
    expect(textIn(answer)).toBe('a\u2028b\u0085c');
  });

  it('replaces invalid UTF-8 and does not fall over', async () => {
    const [before, after] = delta({ content: 'a@b' }).split('@');
    const answer = await answerOf(chunked([Buffer.concat([Buffer.from(before ?? ''), Buffer.from([0xff]), Buffer.from(after ?? '')]), delta({}, 'stop'), DONE]));
    expect(textIn(answer)).toBe('a\uFFFDb');
  });

  it.each([
    ['an event that is not JSON', 'data: {"choices":\n\n'],
    ['two JSON values in one event', `data: {"choices":[]}\ndata: {"choices":[]}\n\n`],
    ['an event that is a number', 'data: 1\n\n'],
  ])('[Q-05] fails on %s', async (_, part) => {
    const answer = await answerOf(chunked([delta({ content: 'a' }), part, delta({}, 'stop'), DONE]));
    expect(answer.error?.code).toBe('MODEL_PROTOCOL_ERROR');
    expect(answer.finish).toBeUndefined();
  });

  it('[Q-17] fails on an endless event', async () => {
    const answer = await answerOf((socket) => {
      socket.write(`${STREAM_HEAD}connection: close\r\n\r\ndata: "`);
      const filler = 'x'.repeat(256 * 1024);
      const pour = (): void => {
        if (!socket.destroyed) socket.write(filler, pour);
      };
      pour();
    });
    expect(answer.error).toMatchObject({ code: 'MODEL_PROTOCOL_ERROR', message: expect.stringContaining('more than') as string });
  });
});

describe('[Q-01] tool calls', () => {
  const finish = [delta({}, 'tool_calls'), DONE];
  it.each<[string, string[], string[]]>([
    [
      'parallel and interleaved',
      [
        delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '' })),
        delta(call({ index: 1, id: 'b' }, { name: 'find', arguments: '' })),
        delta(call({ index: 1 }, { arguments: '{"q"' })),
        delta(call({ index: 0 }, { arguments: '{"u":' })),
        delta(call({ index: 1 }, { arguments: ':2}' })),
        delta(call({ index: 0 }, { arguments: '1}' })),
      ],
      ['a|read|{"u":1}', 'b|find|{"q":2}'],
    ],
    ['index missing, with ids', [delta(call({ id: 'a' }, { name: 'read', arguments: '{"u":' })), delta(call({ id: 'a' }, { arguments: '1}' })), delta(call({ id: 'b' }, { name: 'read', arguments: '{}' }))], ['a|read|{"u":1}', 'b|read|{}']],
    ['index missing, without ids, whole calls one by one', [delta(call({}, { name: 'read', arguments: '{"u":1}' })), delta(call({}, { name: 'read', arguments: '{"u":2}' }))], ['|read|{"u":1}', '|read|{"u":2}']],
    ['index and ids missing in one list', [delta({ tool_calls: [{ function: { name: 'a', arguments: '' } }, { function: { name: 'b', arguments: '' } }] })], ['|a|', '|b|']],
    ['index 0 for all, different ids', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{}' })), delta(call({ index: 0, id: 'b' }, { name: 'read', arguments: '{}' }))], ['a|read|{}', 'b|read|{}']],
    ['index from 1', [delta(call({ index: 1, id: 'a' }, { name: 'read', arguments: '{}' }))], ['a|read|{}']],
    ['id null, blank or the word null', [delta(call({ index: 0, id: null }, { name: 'a', arguments: '{}' })), delta(call({ index: 1, id: ' ' }, { name: 'b', arguments: '{}' })), delta(call({ index: 2, id: 'null' }, { name: 'c', arguments: '{}' }))], ['|a|{}', '|b|{}', '|c|{}']],
    ['one id for two calls', [delta(call({ index: 0, id: 'x:0' }, { name: 'read', arguments: '{"u":1}' })), delta(call({ index: 1, id: 'x:0' }, { name: 'read', arguments: '{"u":1}' }))], ['x:0|read|{"u":1}', 'x:0|read|{"u":1}']],
    ['an id that comes late', [delta(call({ index: 0 }, { name: 'read', arguments: '{' })), delta(call({ index: 0, id: 'a' }, { arguments: '}' }))], ['a|read|{}']],
    ['name in fragments', [delta(call({ index: 0, id: 'a' }, { name: 'read_' })), delta(call({ index: 0 }, { name: 'page', arguments: '' })), delta(call({ index: 0 }, { name: '', arguments: '{}' }))], ['a|read_page|{}']],
    ['name with every fragment', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u"' })), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: ':{}' })), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '}' }))], ['a|read|{"u":{}}']],
    ['arguments as an object', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: { u: 1 } }))], ['a|read|{"u":1}']],
    ['arguments null or empty', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: null })), delta(call({ index: 1, id: 'b' }, { name: 'read', arguments: '' }))], ['a|read|', 'b|read|']],
    ['a finished call sent again', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u":1}' })), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u":1}' }))], ['a|read|{"u":1}']],
    ['the older function_call', [delta({ function_call: { name: 'read', arguments: '{"u"' } }), delta({ function_call: { arguments: ':1}' } })], ['|read|{"u":1}']],
    ['broken arguments stay raw', [delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u' }))], ['a|read|{"u']],
  ])('%s', async (_, parts, expected) => {
    const answer = await answerOf(chunked([...parts, ...finish]));
    expect(answer.error).toBeUndefined();
    expect(callsIn(answer)).toEqual(expected);
    expect(answer.finish).toBe('tool-calls');
  });

  it('keeps one compact delta per fragment, with id and name on each', async () => {
    const answer = await answerOf(chunked([delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '' })), delta(call({ index: 0 }, { arguments: '{}' })), ...finish]));
    expect(answer.chunks.filter((chunk) => chunk.type === 'tool-call-delta')).toEqual([
      { type: 'tool-call-delta', index: 0, id: 'a', name: 'read', argumentsDelta: '' },
      { type: 'tool-call-delta', index: 0, id: 'a', name: 'read', argumentsDelta: '{}' },
    ]);
  });

  it('win over the finish reason stop, and stand beside text', async () => {
    const answer = await answerOf(chunked([delta({ content: 'I read. ' }), delta(call({ index: 0, id: 'a' }, { name: 'read', arguments: '{}' })), delta({ content: 'Done.' }, 'stop'), DONE]));
    expect(answer.finish).toBe('tool-calls');
    expect([textIn(answer), callsIn(answer)]).toEqual(['I read. Done.', ['a|read|{}']]);
  });

  it('[Q-02] sent again after the finish are dropped, going on after it fails', async () => {
    const whole = call({ index: 0, id: 'a' }, { name: 'read', arguments: '{"u":1}' });
    expect(callsIn(await answerOf(chunked([delta(whole), delta({}, 'tool_calls'), delta(whole), DONE])))).toEqual(['a|read|{"u":1}']);
    const more = await answerOf(chunked([delta(whole), delta({}, 'tool_calls'), delta(call({ index: 1, id: 'b' }, { name: 'read', arguments: '{}' })), DONE]));
    expect(more.error?.code).toBe('MODEL_PROTOCOL_ERROR');
  });

  it.each([
    ['index -1', call({ index: -1 }, { name: 'a' })],
    ['index 10^9', call({ index: 1e9 }, { name: 'a' })],
    ['index as text', call({ index: '0' }, { name: 'a' })],
    ['more calls than allowed', { tool_calls: Array.from({ length: TOOL_CALLS_PER_TURN_MAX + 1 }, (_, index) => ({ index, id: `c${index}`, function: { name: 'a', arguments: '{}' } })) }],
    ['arguments too long', call({ index: 0 }, { name: 'a', arguments: 'x'.repeat(1024 * 1024 + 1) })],
    ['an entry that is no object', { tool_calls: ['read'] }],
  ])('[Q-17] fail on %s', async (_, member) => {
    expect((await answerOf(chunked([delta(member), ...finish]))).error?.code).toBe('MODEL_PROTOCOL_ERROR');
  });
});

describe('reasoning, text and usage', () => {
  it('remembers the field of the reasoning, and takes one of two equal fields', async () => {
    const answer = await answerOf(chunked([delta({ reasoning: 'a', reasoning_details: [] }), delta({ reasoning: 'b', reasoning_content: 'b' }), delta({ content: 'c' }, 'stop'), DONE]));
    expect(answer.blocks[0]).toEqual({ type: 'reasoning', text: 'ab', field: 'reasoning' });
  });

  it('[Q-13] takes the last usage, from any chunk, and lives without one', async () => {
    const usage = (tokens: number): string => event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: tokens, cost: 0.1 } });
    const last = await answerOf(chunked([usage(1), delta({ content: 'a' }), usage(2), delta({}, 'stop'), usage(3), DONE]));
    expect(last.usage).toEqual({ inputTokens: 1, outputTokens: 3 });
    expect(last.chunks.filter((chunk) => chunk.type === 'usage')).toHaveLength(1);
    const odd = await answerOf(chunked([event({ usage: { prompt_tokens: -1, completion_tokens: 'x' } }), delta({ content: 'a' }, 'stop'), DONE]));
    expect([odd.usage, odd.finish]).toEqual([undefined, 'stop']);
  });

  it('tolerates filter chunks without choices, choices without delta, and text in parts', async () => {
    const answer = await answerOf(
      chunked([event({ id: '', model: '', choices: [], prompt_filter_results: [] }), event({ choices: [{ index: 0, finish_reason: null }] }), delta({ content: [{ type: 'text', text: 'a' }] }), delta({ content: null }, 'stop'), DONE]),
    );
    expect([textIn(answer), answer.finish]).toEqual(['a', 'stop']);
  });

  it('[Q-17] fails on an answer that never ends', async () => {
    const part = delta({ content: 'x'.repeat(512 * 1024) });
    expect((await answerOf(chunked(Array.from({ length: 9 }, () => part)))).error?.message).toContain('more than');
  });

  it.each(['id', 'model'])('[Q-05] fails when the %s changes in the middle', async (member) => {
    const other = event({ id: 'chatcmpl-1', model: 'scripted', [member]: 'other', choices: [{ index: 0, delta: { content: 'b' }, finish_reason: 'stop' }] });
    expect((await answerOf(chunked([delta({ content: 'a' }), other, DONE]))).error?.code).toBe('MODEL_PROTOCOL_ERROR');
  });
});

describe('[Q-05] finish reasons', () => {
  it.each([
    ['stop', 'stop'],
    ['tool_calls', 'tool-calls'],
    ['function_call', 'tool-calls'],
    ['length', 'max-tokens'],
    ['content_filter', 'content-filter'],
  ])('%s is %s', async (reason, kind) => {
    expect(await answerOf(chunked([delta({ content: 'a' }, reason)]))).toMatchObject({ finish: kind, error: undefined });
  });

  it.each<[string, ErrorCode]>([
    ['error', 'MODEL_PROTOCOL_ERROR'],
    ['insufficient_system_resource', 'MODEL_OVERLOADED'],
    ['end_turn', 'MODEL_PROTOCOL_ERROR'],
    ['toString', 'MODEL_PROTOCOL_ERROR'],
  ])('%s fails with %s', async (reason, code) => {
    const answer = await answerOf(chunked([delta({ content: 'a' }, reason), DONE]));
    expect([answer.error?.code, answer.finish]).toEqual([code, undefined]);
  });

  it('folds repeated ones, and lets a late filter verdict count', async () => {
    expect((await answerOf(chunked([delta({ content: 'a' }, 'stop'), delta({}, 'stop'), DONE]))).finish).toBe('stop');
    expect((await answerOf(chunked([delta({ content: 'a' }, 'stop'), delta({}, 'content_filter'), DONE]))).finish).toBe('content-filter');
    expect((await answerOf(chunked([delta({ content: 'a' }, 'content_filter'), delta({}, 'stop'), DONE]))).finish).toBe('content-filter');
  });
});

describe('[Q-05] errors inside an answer of status 200', () => {
  it.each<[string, RawAnswer, ErrorCode]>([
    ['an error event in mid-stream', chunked([delta({ content: 'a' }), event({ error: { message: 'busy', code: 503 } }), DONE]), 'MODEL_OVERLOADED'],
    ['event: error', chunked([delta({ content: 'a' }), `event: error\n${event({ message: 'busy', type: 'overloaded_error' })}`]), 'MODEL_OVERLOADED'],
    ['an error inside a choice', chunked([event({ choices: [{ index: 0, delta: { content: '' }, error: { code: 429, message: 'slow down' }, finish_reason: 'error' }] })]), 'MODEL_RATE_LIMITED'],
    ['an error as text', chunked([event({ error: 'unknown trouble' })]), 'MODEL_PROTOCOL_ERROR'],
    ['an error object of its own', chunked([event({ object: 'error', message: 'too long', type: 'invalid_request_error' })]), 'MODEL_REQUEST_REFUSED'],
    ['a JSON error body', plain(200, JSON.stringify({ error: { message: 'no credit', code: 'insufficient_quota' } })), 'MODEL_QUOTA_EXHAUSTED'],
    ['a JSON body without error', plain(200, '{"choices":[]}'), 'MODEL_PROTOCOL_ERROR'],
    ['an HTML page', plain(200, '<html>Sign in</html>', { 'content-type': 'text/html; charset=utf-8' }), 'MODEL_PROTOCOL_ERROR'],
    ['a compressed body', plain(200, 'xx', { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }), 'MODEL_PROTOCOL_ERROR'],
    ['an empty stream', untilClose(), 'MODEL_STREAM_CUT'],
    ['only [DONE]', chunked([DONE]), 'MODEL_STREAM_CUT'],
  ])('%s', async (_, script, code) => {
    const answer = await answerOf(script);
    expect(answer.error?.code).toBe(code);
    expect(answer.error?.details).toMatchObject({ accepted: true });
    expect(answer.finish).toBeUndefined();
  });
});

describe('[Q-09] statuses', () => {
  it.each<[number, object, ErrorCode, boolean, boolean]>([
    [400, { error: { message: 'bad' } }, 'MODEL_REQUEST_REFUSED', false, false],
    [400, { error: { message: 'long', code: 'context_length_exceeded', type: 'invalid_request_error' } }, 'MODEL_REQUEST_REFUSED', false, false],
    [401, { error: { message: 'Incorrect API key', type: 'invalid_request_error' } }, 'MODEL_UNAUTHORIZED', false, false],
    [402, {}, 'MODEL_QUOTA_EXHAUSTED', false, false],
    [403, {}, 'MODEL_UNAUTHORIZED', false, false],
    [404, { error: { code: 'model_not_found' } }, 'MODEL_NOT_FOUND', false, false],
    [408, {}, 'MODEL_OVERLOADED', true, false],
    [409, {}, 'MODEL_OVERLOADED', true, false],
    [418, {}, 'MODEL_REQUEST_REFUSED', false, false],
    [422, { detail: [] }, 'MODEL_REQUEST_REFUSED', false, false],
    [429, { error: { message: 'slow' } }, 'MODEL_RATE_LIMITED', true, false],
    [429, { error: { type: 'insufficient_quota' } }, 'MODEL_QUOTA_EXHAUSTED', false, false],
    [500, { error: { type: 'server_error' } }, 'MODEL_OVERLOADED', true, true],
    [503, {}, 'MODEL_OVERLOADED', true, true],
    [529, {}, 'MODEL_OVERLOADED', true, true],
    [599, {}, 'MODEL_OVERLOADED', true, true],
    [302, {}, 'MODEL_PROTOCOL_ERROR', true, true],
  ])('%i %j is %s', async (status, body, code, retryable, accepted) => {
    const { error } = await answerOf(plain(status, JSON.stringify(body)));
    expect(error).toMatchObject({ code, retryable, details: { status, accepted } });
    expect(error?.message).toContain('127.0.0.1');
    expect(error?.message).toContain(String(status));
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('reads the wait from %j', async (headers, expected) => {
    expect((await answerOf(plain(429, '{}', headers as Record<string, string>))).error?.retryAfterMs).toBe(expected);
  });

  it('[Q-27] shows a short sample without the key', async () => {
    const { error } = await answerOf(plain(400, JSON.stringify({ error: { message: `key ${API_KEY} and Bearer abcdefghi\u0007\n${'x'.repeat(5_000)}` } })));
    expect(error?.message).not.toContain('canary');
    expect(error?.message).not.toContain('abcdefghi');
    expect(error?.message.length).toBeLessThan(400);
    expect(error?.message).not.toMatch(/\p{Cc}/u);
  });

  it('says that nothing was accepted where no server is', async () => {
    const { server, model } = await start([]);
    await server.close();
    expect((await ask(model)).error).toMatchObject({ code: 'MODEL_UNREACHABLE', retryable: true, details: { accepted: false } });
  });

  it('does not know what became of a request that was not answered', async () => {
    expect((await answerOf((socket) => socket.destroy())).error).toMatchObject({ code: 'MODEL_STREAM_CUT', details: { accepted: true } });
  });
});

describe('time and cancel', () => {
  const stalled: RawAnswer = (socket) => socket.write(`${STREAM_HEAD}\r\n${delta({ content: 'partial' })}`);

  it('[Q-09] ends a call that falls silent, before and after the headers', async () => {
    const { server, model } = await start([stalled], { idleTimeoutMs: 60 });
    expect((await ask(model)).error).toMatchObject({ code: 'MODEL_TIMEOUT', retryable: true, message: expect.stringContaining('60 ms') as string });
    server.answers = [() => undefined];
    expect((await ask(model)).error?.code).toBe('MODEL_TIMEOUT');
  });

  const ticking =
    (part: string): RawAnswer =>
    (socket) => {
      socket.write(`${STREAM_HEAD}\r\n${delta({ content: 'a' })}`);
      const timer = setInterval(() => socket.write(part), 10);
      socket.on('close', () => clearInterval(timer));
    };

  it('[Q-17] does not take comments for life', async () => {
    expect((await ask((await start([ticking(': PROCESSING\n\n')], { idleTimeoutMs: 80 })).model)).error?.message).toContain('silent');
  });

  it('[Q-17] ends a call that goes on for ever', async () => {
    expect((await ask((await start([ticking(delta({ content: 'a' }))], { idleTimeoutMs: 2_000, callTimeoutMs: 150 })).model)).error?.message).toContain('did not finish');
  });

  it('[Q-18] throws when the caller cancels: before, without and after the first chunk', async () => {
    const { server, model } = await start([stalled]);
    expect((await ask(model, REQUEST, AbortSignal.abort())).error?.code).toBe('RUN_CANCELLED');
    expect(server.bodies).toEqual([]);
    const controller = new AbortController();
    const cancelled = model.stream(REQUEST, () => controller.abort(), controller.signal);
    await expect(cancelled).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
    const silent = new AbortController();
    server.answers = [() => silent.abort()];
    expect((await ask(model, REQUEST, silent.signal)).error?.code).toBe('RUN_CANCELLED');
  });

  it('[Q-18] throws when the caller cancels on the last chunk of a whole stream', async () => {
    const { model } = await start([chunked(GOOD_STREAM)]);
    const controller = new AbortController();
    const chunks: ModelChunk[] = [];
    const cancelled = model.stream(REQUEST, (chunk) => (chunks.push(chunk), chunk.type === 'text-delta' && controller.abort()), controller.signal);
    await expect(cancelled).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
    expect(chunks.some((chunk) => chunk.type === 'finish')).toBe(false);
  });

  it('throws the reason of the caller when it is one of ours', async () => {
    const reason = new QuaestorError('DEADLINE_REACHED', 'The deadline has passed.');
    expect((await ask((await start([stalled])).model, REQUEST, AbortSignal.abort(reason))).error).toBe(reason);
  });

  it('passes on what the caller of a chunk throws', async () => {
    const { model } = await start([chunked(GOOD_STREAM)]);
    const failure = new Error('disk full');
    await expect(
      model.stream(
        REQUEST,
        () => {
          throw failure;
        },
        never,
      ),
    ).rejects.toBe(failure);
  });
});

describe('the request', () => {
  const toolCallId = (digit: number): ToolCallId => ToolCallId.parse(`call_${String(digit).repeat(26)}`);
  const bodyOf = async (request: ModelRequest): Promise<Record<string, unknown>> => {
    const { server, model } = await start([chunked(GOOD_STREAM)]);
    await ask(model, request);
    return JSON.parse(server.bodies[0] ?? '') as Record<string, unknown>;
  };

  it('holds what is needed and nothing else', async () => {
    const { server, model } = await start([chunked(GOOD_STREAM)]);
    await ask(model);
    expect(JSON.parse(server.bodies[0] ?? '')).toEqual({ model: 'scripted', messages: [{ role: 'user', content: 'question' }], max_tokens: 100, stream: true, stream_options: { include_usage: true } });
    expect(server.heads[0]).toContain('POST /v1/chat/completions HTTP/1.1');
    expect(server.heads[0]).toContain(`authorization: Bearer ${API_KEY}`);
  });

  it('[Q-24] echoes provider ids byte for byte, ours where there is none, and results in call order', async () => {
    const messages: ModelMessage[] = [
      {
        role: 'assistant',
        content: '',
        reasoning: { text: 'why', field: 'reasoning' },
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
