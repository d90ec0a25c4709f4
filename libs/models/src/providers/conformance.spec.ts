import { describe, expect, it } from 'vitest';
import { QuaestorError, type ModelChunk } from '#contracts';
import { STREAM_CASES, WIRE_WRITERS } from '#testing';
import { conformance, settle } from '../testing/conformance.ts';
import { NEVER, REQUEST } from '../testing/ask.ts';
import { extractiveProvider } from './extractive.ts';

describe.each(WIRE_WRITERS)('$protocol', (writer) => conformance(writer));

describe('recorded streams', () => {
  it.each(STREAM_CASES.map((streamCase) => ({ ...streamCase, title: streamCase.rows.split(' ').map((row) => `[${row}]`).join(' ') })))('$title $name', ({ protocol, events, model, expected }) => {
    const bytes = Buffer.from(events.join(''));
    for (const pieces of [[bytes], [...bytes].map((byte) => Buffer.from([byte]))]) {
      const { settlement } = settle(protocol, pieces, model);
      if ('error' in expected) {
        expect(settlement).toMatchObject({ kind: 'attempt', code: expected.error });
        continue;
      }
      const blocks = settlement.kind === 'message' ? settlement.blocks : [];
      const textOf = (type: 'text' | 'reasoning') => blocks.map((block) => (block.type === type ? block.text : '')).join('');
      expect(settlement.kind).toBe('message');
      expect(blocks.flatMap((block) => (block.type === 'tool-call' ? [`${block.id}|${block.name}|${block.arguments}`] : []))).toEqual(expected.calls ?? []);
      if (expected.text !== undefined) expect(textOf('text')).toBe(expected.text);
      if (expected.reasoning !== undefined) expect(textOf('reasoning')).toBe(expected.reasoning);
    }
  });
});

describe('extractive', () => {
  const model = extractiveProvider.create();

  it('gives blocks and one finish, last', async () => {
    const chunks: ModelChunk[] = [];
    await model.stream(REQUEST, (chunk) => chunks.push(chunk), NEVER);
    expect(chunks.map(({ type }) => type === 'finish')).toEqual(chunks.map((_, position) => position === chunks.length - 1));
  });

  it('[L03] throws when the caller cancels', async () => {
    const reason = new QuaestorError('RUN_CANCELLED', 'Cancelled.');
    await expect(model.stream(REQUEST, () => undefined, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
