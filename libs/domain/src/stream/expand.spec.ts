import { describe, expect, it } from 'vitest';
import { expandAssistantStream } from './expand.ts';

const run = { type: 'text-chunks', time0: 1, index: 0, dt: [1], texts: ['a', 'b'] };
const toolRun = { type: 'tool-call-chunks', time0: 1, index: 0, dt: [], id: 'call-1', args: ['{}'] };
const raw = { type: 'chunk', time: 1, chunk: { type: 'finish', reason: { kind: 'stop' } } };

describe('expandAssistantStream', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['array', []],
    ['unknown type', { ...run, type: 'other' }],
    ['empty texts', { ...run, dt: [], texts: [] }],
    ['text that is no string', { ...run, texts: ['a', 1] }],
    ['fractional time0', { ...run, time0: 1.5 }],
    ['index -0', { ...run, index: -0 }],
    ['index -1', { ...run, index: -1 }],
    ['fractional gap', { ...run, dt: [0.5] }],
    ['gap count', { ...run, dt: [1, 1] }],
    ['time overflow', { ...run, time0: Number.MAX_SAFE_INTEGER }],
    ['empty id', { ...toolRun, id: '' }],
    ['empty name', { ...toolRun, name: '' }],
    ['empty args', { ...toolRun, args: [] }],
    ['args that are no strings', { ...toolRun, args: [{}] }],
    ['fractional chunk time', { ...raw, time: 0.5 }],
    ['null chunk', { ...raw, chunk: null }],
    ['array chunk', { ...raw, chunk: [] }],
    ['lossy chunk', { ...raw, chunk: { type: 'finish', replayState: undefined } }],
    ['extra member of a run', { ...run, note: 1 }],
    ['extra member of a raw chunk', { ...raw, note: 1 }],
    ['missing member', { type: 'text-chunks', time0: 1, index: 0, texts: ['a'] }],
    ['hole in texts', { ...run, texts: ['a', ...new Array<string>(1)] }],
    ['gap that is text', { ...run, dt: ['1'] }],
  ])('[Q-36] refuses a malformed record: %s', (_, record) => {
    expect(() => expandAssistantStream([run, record])).toThrow(expect.objectContaining({ code: 'JOURNAL_INVALID', details: { record: 1 } }));
  });

  it('gives the name only where the record has it', () => {
    const [bare, named] = expandAssistantStream([toolRun, { ...toolRun, name: 'read' }]);
    expect(bare?.chunk).toStrictEqual({ type: 'tool-call-delta', index: 0, id: 'call-1', argumentsDelta: '{}' });
    expect(named?.chunk).toStrictEqual({ type: 'tool-call-delta', index: 0, id: 'call-1', name: 'read', argumentsDelta: '{}' });
  });

  it('detaches and freezes raw chunks', () => {
    const record = structuredClone(raw);
    const [timed] = expandAssistantStream([record]);
    record.chunk.reason.kind = 'changed';
    expect(timed).toEqual({ time: 1, chunk: { type: 'finish', reason: { kind: 'stop' } } });
    expect(Object.isFrozen(timed?.chunk)).toBe(true);
  });

  it('does not judge the vocabulary of a raw chunk', () => {
    expect(expandAssistantStream([{ ...raw, chunk: { type: 'from-the-future' } }])).toEqual([{ time: 1, chunk: { type: 'from-the-future' } }]);
  });
});
