import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '#contracts';
import { answerOf, textIn } from '../testing/ask.ts';
import { chunked, delta, DONE, event, plain, untilClose, type RawAnswer } from '../testing/raw-server.ts';

describe('reasoning, text and usage', () => {
  it('remembers the field of the reasoning, and takes one of two equal fields', async () => {
    const answer = await answerOf(chunked([delta({ reasoning: 'a', reasoning_details: [] }), delta({ reasoning: 'b', reasoning_content: 'b' }), delta({ content: 'c' }, 'stop'), DONE]));
    expect(answer.blocks[0]).toEqual({ type: 'reasoning', text: 'ab', field: 'reasoning' });
  });

  it('[Q-13] [L33] takes the last usage, from any chunk, and lives without one', async () => {
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

  it('[Q-17] [L06] fails on an answer that never ends', async () => {
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
