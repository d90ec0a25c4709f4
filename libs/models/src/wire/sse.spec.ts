import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerOf, ask, GOOD_STREAM, start, textIn } from '../testing/ask.ts';
import { chunked, delta, DONE, STREAM_HEAD } from '../testing/raw-server.ts';

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

  it.each([
    ['a strange field', 'dat\u0001: {}\n\n'],
    ['no field at all', 'junk\n\n'],
    ['a line end lost to a control character', 'event: ping\u0001data: {}\n\n'],
  ])('[L36] fails on %s, whole or split, for what stood there is lost', async (_, line) => {
    for (const parts of [[line], [...line]]) {
      expect((await answerOf(chunked([delta({ content: 'a' }), ...parts, delta({ content: 'b' }, 'stop'), DONE]))).error?.code).toBe('MODEL_PROTOCOL_ERROR');
    }
  });
});
