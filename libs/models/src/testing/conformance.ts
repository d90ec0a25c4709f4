import { expect, it, onTestFinished } from 'vitest';
import { QuaestorError } from '#contracts';
import { BlockAssembler, chooseSettlement, vendorOf, type AttemptSettlement, type ModelRequest } from '#domain';
import type { WireWriter } from '#testing';
import { openModelStream, WIRE_PROTOCOLS } from '../open-model-stream.ts';
import type { StreamedModelOptions } from '../wire/streamed-model.ts';
import { API_KEY, ask, callsIn, NEVER, REQUEST, start, textIn } from './ask.ts';
import { chunked, plain, STREAM_HEAD, untilClose, type RawAnswer } from './raw-server.ts';

export const TOOL_NAMES: ReadonlySet<string> = new Set(['find', 'read']);

/** What becomes of an answer that comes as these bytes, by the rules of the loop. */
export function settle(protocolId: string, pieces: readonly Buffer[], model = 'scripted'): { settlement: AttemptSettlement; assembler: BlockAssembler; error: QuaestorError | undefined } {
  const assembler = new BlockAssembler();
  try {
    const stream = openModelStream(protocolId, { emit: (chunk) => assembler.push(chunk), model, tools: TOOL_NAMES, maxOutputTokens: 1_000 });
    for (const piece of pieces) stream.feed(piece);
    stream.end();
    stream.complete();
    return { settlement: chooseSettlement(assembler, { kind: 'returned' }), assembler, error: undefined };
  } catch (error) {
    if (!(error instanceof QuaestorError)) throw error;
    return { settlement: chooseSettlement(assembler, { kind: 'failed', code: error.code }), assembler, error };
  }
}

const CALLS = [
  { id: 'call_a', name: 'find', pieces: ['{"q":', '"é"}'] },
  { id: 'call_b', name: 'read', pieces: ['{}'] },
];

/** What every provider over HTTP must do, whatever its protocol. */
export function conformance(writer: WireWriter): void {
  const protocol = WIRE_PROTOCOLS.find(({ id }) => id === writer.protocol)!;
  const open = (answers: RawAnswer[], options: Partial<StreamedModelOptions> = {}) => start(answers, options, protocol);
  const answer = async (...answers: RawAnswer[]) => ask((await open(answers)).model);
  const good = writer.events({ reasoning: ['why'], text: ['Look. ', '✓ é'], calls: CALLS, finish: 'tool-calls' });

  it('gives reasoning, text, calls, usage and one finish', async () => {
    const whole = await answer(chunked(good));
    expect(whole).toMatchObject({ error: undefined, finish: 'tool-calls', usage: { inputTokens: 7, outputTokens: 3 } });
    expect([textIn(whole), callsIn(whole)]).toEqual(['Look. ✓ é', ['call_a|find|{"q":"é"}', 'call_b|read|{}']]);
    expect(whole.blocks[0]).toMatchObject({ type: 'reasoning', text: 'why' });
    expect(whole.chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
  });

  it('[L02] promotes nothing of a stream that is cut at any byte', () => {
    const bytes = Buffer.from(good.join(''));
    const whole = settle(writer.protocol, [bytes]).assembler.blocks();
    for (let offset = 0; offset < bytes.length; offset++) {
      const { settlement } = settle(writer.protocol, [bytes.subarray(0, offset)]);
      if (settlement.kind === 'message') expect([offset, settlement.blocks]).toEqual([offset, whole]);
    }
  });

  it('[L34] [L35] reads the same however the bytes are split, with any line ends', () => {
    const text = good.join('');
    const whole = settle(writer.protocol, [Buffer.from(text)]).assembler.blocks();
    for (const bytes of [Buffer.from(text), Buffer.from(text.replaceAll('\n', '\r\n'))]) {
      expect(settle(writer.protocol, [...bytes].map((byte) => Buffer.from([byte]))).assembler.blocks()).toEqual(whole);
    }
  });

  it('[L07] fails on a connection that breaks, and reports no finish', async () => {
    const broken = await answer((socket) => socket.write(`${STREAM_HEAD}\r\n${good.slice(0, 4).join('')}`, () => setImmediate(() => socket.resetAndDestroy())));
    expect(broken).toMatchObject({ finish: undefined, error: { code: 'MODEL_STREAM_CUT', retryable: true } });
  });

  it('[L03] throws when the caller cancels', async () => {
    const { model } = await open([(socket) => socket.write(`${STREAM_HEAD}\r\n${good.slice(0, 3).join('')}`)]);
    const controller = new AbortController();
    await expect(model.stream(REQUEST, () => controller.abort(), controller.signal)).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
  });

  it('[L04] [L05] does not take silence or heartbeats for life', async () => {
    const beating: RawAnswer = (socket) => {
      socket.write(`${STREAM_HEAD}\r\n${good[0]}`);
      const timer = setInterval(() => socket.write(writer.heartbeat), 10);
      socket.on('close', () => clearInterval(timer));
    };
    const { server, model } = await open([beating], { idleTimeoutMs: 100 });
    expect((await ask(model)).error).toMatchObject({ code: 'MODEL_TIMEOUT', message: expect.stringContaining('silent') as string });
    server.answers = [(socket) => socket.write(`${STREAM_HEAD}\r\n`)];
    expect((await ask(model)).error?.code).toBe('MODEL_TIMEOUT');
  });

  it('[L06] fails on text that repeats itself for ever', () => {
    const text = Array.from({ length: 2_000 }, () => 'the same again, ');
    const { error } = settle(writer.protocol, [Buffer.from(writer.events({ text, finish: 'stop' }).join(''))]);
    expect(error?.message).toContain('repeated itself');
  });

  it('[L11] fails on an error inside the stream, with its class', async () => {
    const failed = await answer(chunked([good[0]!, writer.error('overloaded_error', 'busy')]));
    expect(failed.error).toMatchObject({ code: 'MODEL_OVERLOADED', retryable: true });
  });

  it.each([
    [400, {}, 'MODEL_REQUEST_REFUSED', false],
    [401, {}, 'MODEL_UNAUTHORIZED', false],
    [402, {}, 'MODEL_QUOTA_EXHAUSTED', false],
    [403, {}, 'MODEL_UNAUTHORIZED', false],
    [404, {}, 'MODEL_NOT_FOUND', false],
    [408, {}, 'MODEL_OVERLOADED', true],
    [429, {}, 'MODEL_RATE_LIMITED', true],
    [429, { error: { code: 'insufficient_quota' } }, 'MODEL_QUOTA_EXHAUSTED', false],
    [400, { error: { type: 'invalid_request_error', message: 'Your credit balance is too low' } }, 'MODEL_QUOTA_EXHAUSTED', false],
    [500, {}, 'MODEL_OVERLOADED', true],
    [503, {}, 'MODEL_OVERLOADED', true],
    [529, {}, 'MODEL_OVERLOADED', true],
  ] as const)('[L08] [L09] ends status %i %j as %s', async (status, body, code, retryable) => {
    expect((await answer(plain(status, JSON.stringify(body)))).error).toMatchObject({ code, retryable });
  });

  it('[L08] [B34] hands on how long the server wants to be left alone, and that it wants no other try', async () => {
    expect((await answer(plain(429, '{}', { 'retry-after': '7' }))).error?.retryAfterMs).toBe(7_000);
    expect((await answer(plain(503, '{}', { 'x-should-retry': 'false' }))).error?.retryable).toBe(false);
    expect((await answer(plain(401, '{}', { 'x-should-retry': 'true' }))).error?.retryable).toBe(false);
  });

  it('[L10] [L36] fails on a body that is no stream', async () => {
    expect((await answer(plain(200, '{"error":{"message":"no","type":"overloaded_error"}}'))).error?.code).toBe('MODEL_OVERLOADED');
    expect((await answer(plain(200, '<html>', { 'content-type': 'text/html' }))).error?.code).toBe('MODEL_PROTOCOL_ERROR');
  });

  it('[L37] fails on a compressed answer that nobody asked for, and on one that is shorter than it says', async () => {
    const whole = good.join('');
    expect((await answer(plain(200, whole, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }))).error?.code).toBe('MODEL_PROTOCOL_ERROR');
    const short: RawAnswer = (socket) => {
      socket.write(`${STREAM_HEAD}content-length: ${Buffer.byteLength(whole)}\r\n\r\n${good.slice(0, 3).join('')}`);
      socket.end();
    };
    expect((await answer(short)).error).toMatchObject({ code: 'MODEL_STREAM_CUT', retryable: true });
  });

  it.each(['context_length_exceeded', 'invalid_request_error'])('[L40] does not ask for another try of a prompt that is refused (%s)', async (word) => {
    const { server, model } = await open([plain(400, JSON.stringify({ error: { type: word, code: word, message: 'prompt is too long' } }))]);
    expect((await ask(model)).error).toMatchObject({ code: 'MODEL_CONTEXT_OVERFLOW', retryable: false, details: { accepted: false, providerCode: word } });
    expect(server.bodies).toHaveLength(1);
  });

  it('[B38] sends its key in its header, and never tells it', async () => {
    const { server, model } = await open([plain(429, JSON.stringify({ error: { message: `key ${API_KEY} at https://x/?key=${API_KEY}` } }))]);
    expect((await ask(model)).error?.message).not.toContain(API_KEY);
    expect(server.heads[0]).toContain(writer.protocol === 'anthropic' ? `x-api-key: ${API_KEY}` : `authorization: Bearer ${API_KEY}`);
  });

  it('[L31] [B16] [B17] gives what its vendor keeps private back to this one only', async () => {
    const { server, model } = await open([chunked(good)]);
    const first = await ask(model);
    const assembler = new BlockAssembler();
    for (const chunk of first.chunks) assembler.push(chunk);
    const history = (vendor: string): ModelRequest => ({
      ...REQUEST,
      messages: [...REQUEST.messages, { role: 'assistant', content: 'Look.', vendor, reasoning: { text: 'why', field: 'reasoning_content' }, replay: assembler.replayState() }, { role: 'user', content: 'Go on.' }],
    });
    await ask(model, history(vendorOf(model, REQUEST.model)));
    await ask(model, history('someone:else/scripted'));
    const [, own = '', foreign = ''] = server.bodies;
    expect(own).toContain(writer.protocol === 'openai-compatible' ? 'why' : 'sealed');
    expect(foreign).not.toMatch(/why|sealed/);
  });

  it('[L48] survives a kept connection that the server has closed', async () => {
    const { model } = await open([untilClose(...good), chunked(good)]);
    for (let round = 0; round < 3; round++) expect((await ask(model, REQUEST, NEVER)).error).toBeUndefined();
    onTestFinished(() => model.close());
  });
}
