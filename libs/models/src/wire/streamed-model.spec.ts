import { describe, expect, it } from 'vitest';
import { QuaestorError, type ModelChunk } from '#contracts';
import type { ModelRequest } from '#domain';
import { answerOf, ask, GOOD_STREAM, GOOD_TEXT, NEVER, REQUEST, start, textIn } from '../testing/ask.ts';
import { chunked, delta, DONE, event, STREAM_HEAD, untilClose, type RawAnswer } from '../testing/raw-server.ts';

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

  it('comes from many calls at once, each with its own blocks', async () => {
    const { model } = await start([(socket, body) => chunked([delta({ content: `to ${(JSON.parse(body) as ModelRequest).model}` }, 'stop'), DONE])(socket, body)]);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, position) => ask(model, { ...REQUEST, model: `model-${position}` })));
    expect(answers.map(textIn)).toEqual(answers.map((_, position) => `to model-${position}`));
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

  it.each([
    ['in the name of a field', 'dat', false],
    ['inside an event', 'data: {"choices":[],"usa', false],
    ['before the line end of [DONE]', 'data: [DONE]', true],
    ['before the blank line of an event', 'data: {"choices":[]}\n', true],
  ])('after its finish reason, %s', async (_, rest, whole) => {
    const answer = await answerOf(untilClose(delta({ content: 'a' }, 'stop'), rest));
    expect([answer.error === undefined, answer.finish]).toEqual(whole ? [true, 'stop'] : [false, undefined]);
  });

  it('[L33] reports the usage it knew all the same', async () => {
    const answer = await answerOf(untilClose(delta({ content: 'a' }), event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } })));
    expect(answer.error?.code).toBe('MODEL_STREAM_CUT');
    expect(answer.usage).toEqual({ inputTokens: 5, outputTokens: 1 });
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

  it('[Q-09] lets a call go on as long as data comes', async () => {
    const idleTimeoutMs = 1_500;
    const slow: RawAnswer = (socket) => {
      socket.write(`${STREAM_HEAD}connection: close\r\n\r\n`);
      const endMs = performance.now() + idleTimeoutMs * 1.3;
      const timer = setInterval(() => {
        if (performance.now() < endMs) return socket.write(delta({ content: 'a' }));
        clearInterval(timer);
        return socket.end(delta({}, 'stop'));
      }, 20);
    };
    expect((await ask((await start([slow], { idleTimeoutMs })).model)).finish).toBe('stop');
  });

  it('[Q-17] does not take comments for life', async () => {
    expect((await ask((await start([ticking(': PROCESSING\n\n')], { idleTimeoutMs: 80 })).model)).error?.message).toContain('silent');
  });

  it('[Q-17] ends a call that goes on for ever', async () => {
    expect((await ask((await start([ticking(delta({ content: 'a' }))], { idleTimeoutMs: 2_000, callTimeoutMs: 150 })).model)).error?.message).toContain('did not finish');
  });

  it('[Q-18] throws when the caller cancels: before, without and after the first chunk', async () => {
    const { server, model } = await start([stalled]);
    expect((await ask(model, REQUEST, AbortSignal.abort())).error).toMatchObject({ code: 'RUN_CANCELLED', details: { accepted: false } });
    expect(server.bodies).toEqual([]);
    const controller = new AbortController();
    const cancelled = model.stream(REQUEST, () => controller.abort(), controller.signal);
    await expect(cancelled).rejects.toMatchObject({ code: 'RUN_CANCELLED', details: { accepted: true } });
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

  it('[Q-18] throws when the caller cancels on the very last event, read after the end of the body', async () => {
    const { model } = await start([untilClose(delta({ content: 'a' }, 'stop').trimEnd())]);
    const controller = new AbortController();
    await expect(model.stream(REQUEST, () => controller.abort(), controller.signal)).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
  });

  it('[Q-18] throws when the caller cancels while a finished answer waits for its end', async () => {
    const controller = new AbortController();
    const { model } = await start([
      (socket, body) => {
        chunked(GOOD_STREAM, false)(socket, body);
      },
    ]);
    const finished = model.stream(REQUEST, (chunk) => chunk.type === 'text-delta' && setImmediate(() => controller.abort()), controller.signal);
    await expect(finished).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
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
        NEVER,
      ),
    ).rejects.toBe(failure);
  });
});
