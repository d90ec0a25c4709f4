import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '#contracts';
import { ProviderFailures } from './errors.ts';
import { answerOf, API_KEY, ask, start } from '../testing/ask.ts';
import { plain } from '../testing/raw-server.ts';

describe('[Q-09] statuses', () => {
  it.each<[number, object, ErrorCode, boolean, boolean]>([
    [400, { error: { message: 'bad' } }, 'MODEL_REQUEST_REFUSED', false, false],
    [400, { error: { message: 'long', code: 'context_length_exceeded', type: 'invalid_request_error' } }, 'MODEL_CONTEXT_OVERFLOW', false, false],
    ...[
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
      'prompt is too long: 210000 tokens > 200000 maximum',
      'the request exceeds the available context size (4096 tokens), try increasing it',
      'Invalid request: Your request exceeded model token limit: 8192',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097',
      'Range of input length should be [1, 30720]',
    ].map((message): [number, object, ErrorCode, boolean, boolean] => [400, { error: { message, type: 'invalid_request_error' } }, 'MODEL_CONTEXT_OVERFLOW', false, false]),
    [400, { error: { message: 'max_tokens must be at least 1', type: 'invalid_request_error' } }, 'MODEL_REQUEST_REFUSED', false, false],
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
    [302, {}, 'MODEL_PROTOCOL_ERROR', true, false],
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

  it.each([API_KEY, 'odd.canary/key+of=no-known-form'])('[Q-27] shows a short sample without the key %s', async (apiKey) => {
    const { model } = await start([
      plain(400, JSON.stringify({ error: { message: `key ${apiKey} and Bearer abcdefghi\u0007\n${'x'.repeat(5_000)}` } })),
    ], { apiKey });
    const { error } = await ask(model);
    expect(error?.message).not.toContain('canary');
    expect(error?.message).not.toContain('abcdefghi');
    expect(error?.message.length).toBeLessThan(400);
    expect(error?.message).not.toMatch(/\p{Cc}/u);
  });

  it('[Q-17] reads only the beginning of a huge error body', async () => {
    expect((await answerOf(plain(500, 'x'.repeat(8 * 1024 * 1024), { 'content-type': 'text/plain' }))).error).toMatchObject({ code: 'MODEL_OVERLOADED', details: { status: 500 } });
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

describe('the key in what a server said', () => {
  const said = (key: string) => new ProviderFailures('host', key).status({ status: 401, body: `No model ollama for ${key}`, retryAfterMs: undefined }).message;
  it('is blotted out', () => expect(said('a-long-secret')).toContain('No model ollama for [key].'));
  it('is left alone when it is a stand-in too short to be one', () => expect(said('ollama')).toContain('No model ollama for ollama.'));
});
