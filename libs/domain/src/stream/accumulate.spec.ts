import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelChunk, StreamRecord, TimedChunk } from '#contracts';
import { AssistantStreamAccumulator } from './accumulate.ts';
import { expandAssistantStream } from './expand.ts';

const compact = (chunks: readonly TimedChunk[]): readonly StreamRecord[] => {
  const accumulator = new AssistantStreamAccumulator();
  for (const { time, chunk } of chunks) accumulator.push(time, chunk);
  return accumulator.snapshot();
};

const text = (time: number, index: number, value: string): TimedChunk => ({ time, chunk: { type: 'text-delta', index, text: value } });
const call = (time: number, argumentsDelta: string, id = 'call-1', name?: string): TimedChunk => ({
  time,
  chunk: { type: 'tool-call-delta', index: 1, id, ...(name !== undefined && { name }), argumentsDelta },
});

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen));

describe('AssistantStreamAccumulator', () => {
  it('[Q-06] keeps every delta boundary and time gap while it compacts', () => {
    const chunks: TimedChunk[] = [
      text(1000, 0, 'hel'),
      text(1006, 0, 'lo'),
      call(1008, '{', 'call-1', 'run_code'),
      call(1011, '}', 'call-1', 'run_code'),
      { time: 1020, chunk: { type: 'finish', reason: { kind: 'stop' } } },
    ];
    expect(compact(chunks)).toEqual([
      { type: 'text-chunks', time0: 1000, index: 0, dt: [6], texts: ['hel', 'lo'] },
      { type: 'tool-call-chunks', time0: 1008, index: 1, dt: [3], id: 'call-1', name: 'run_code', args: ['{', '}'] },
      { type: 'chunk', time: 1020, chunk: { type: 'finish', reason: { kind: 'stop' } } },
    ]);
    expect(expandAssistantStream(compact(chunks))).toEqual(chunks);
  });

  it('keeps runs apart that are not the same block, call, name or time line', () => {
    const chunks: TimedChunk[] = [
      { time: 1, chunk: { type: 'reasoning-delta', index: 0, text: 'r' } },
      text(1, 0, 'a'),
      text(1, 1, 'b'),
      call(2, '1'),
      call(2, '2', 'call-1', 'name'),
      call(2, '3', 'call-2', 'name'),
      text(Number.MAX_SAFE_INTEGER, 0, 'late'),
      text(Number.MIN_SAFE_INTEGER, 0, 'early'),
    ];
    expect(compact(chunks).map((record) => record.type)).toEqual([
      'reasoning-chunks',
      'text-chunks',
      'text-chunks',
      'tool-call-chunks',
      'tool-call-chunks',
      'tool-call-chunks',
      'text-chunks',
      'text-chunks',
    ]);
    expect(expandAssistantStream(compact(chunks))).toEqual(chunks);
  });

  it('merges across a negative gap', () => {
    expect(compact([text(10, 0, 'a'), text(-5, 0, 'b')])).toEqual([{ type: 'text-chunks', time0: 10, index: 0, dt: [-15], texts: ['a', 'b'] }]);
  });

  it('stores a tool call without id, or with an empty name, as raw chunks', () => {
    const chunks = [call(1, 'a', ''), call(2, 'b', ''), call(3, 'c', 'call-1', '')];
    expect(compact(chunks)).toEqual(chunks.map(({ time, chunk }) => ({ type: 'chunk', time, chunk })));
  });

  it('detaches what it returns from its input, and earlier snapshots from later pushes', () => {
    const accumulator = new AssistantStreamAccumulator();
    const finish: ModelChunk = { type: 'finish', reason: { kind: 'stop' }, replayState: { blocks: [{ signature: 'a' }] } };
    const first = accumulator.push(1, { type: 'text-delta', index: 0, text: 'a' });
    const before = accumulator.snapshot();
    accumulator.push(2, { type: 'text-delta', index: 0, text: 'b' });
    const kept = accumulator.push(3, finish);
    (finish.replayState as { blocks: unknown[] }).blocks.push('changed');
    expect(before).toEqual([{ type: 'text-chunks', time0: 1, index: 0, dt: [], texts: ['a'] }]);
    expect(kept).toEqual({ type: 'finish', reason: { kind: 'stop' }, replayState: { blocks: [{ signature: 'a' }] } });
    expect([first, kept, before, accumulator.snapshot()].every(isDeepFrozen)).toBe(true);
  });

  it.each([
    ['fractional time', 1.5, { type: 'text-delta', index: 0, text: '' }],
    ['infinite time', Infinity, { type: 'text-delta', index: 0, text: '' }],
    ['index -0', 1, { type: 'text-delta', index: -0, text: '' }],
    ['negative index', 1, { type: 'reasoning-delta', index: -1, text: '' }],
    ['fractional index', 1, { type: 'tool-call-delta', index: 0.5, id: 'a', argumentsDelta: '' }],
    ['text that is no string', 1, { type: 'text-delta', index: 0, text: 7 }],
    ['missing text', 1, { type: 'text-delta', index: 0 }],
    ['extra member', 1, { type: 'text-delta', index: 0, text: '', note: 'lost' }],
    ['undefined member', 1, { type: 'tool-call-delta', index: 0, id: 'a', name: undefined, argumentsDelta: '' }],
    ['null id', 1, { type: 'tool-call-delta', index: 0, id: null, argumentsDelta: '' }],
    ['numeric name', 1, { type: 'tool-call-delta', index: 0, id: 'a', name: 1, argumentsDelta: '' }],
    ['object arguments', 1, { type: 'tool-call-delta', index: 0, id: 'a', argumentsDelta: {} }],
    ['function member', 1, { type: 'finish', reason: { kind: 'stop' }, replayState: () => 1 }],
    ['nested undefined', 1, { type: 'finish', reason: { kind: 'stop' }, replayState: { a: undefined } }],
    ['NaN', 1, { type: 'usage', usage: { inputTokens: NaN, outputTokens: 0 } }],
    ['-0', 1, { type: 'usage', usage: { inputTokens: -0, outputTokens: 0 } }],
    ['class instance', 1, { type: 'finish', reason: { kind: 'stop' }, replayState: new Date(0) }],
    ['symbol key', 1, { type: 'finish', reason: { kind: 'stop' }, replayState: { [Symbol('a')]: 1 } }],
  ])('refuses a chunk it could not keep without loss: %s', (_, time, chunk) => {
    const accumulator = new AssistantStreamAccumulator();
    expect(() => accumulator.push(time, chunk as ModelChunk)).toThrow(TypeError);
    expect(accumulator.snapshot()).toEqual([]);
  });

  it('refuses a cyclic value and an unknown chunk type', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const accumulator = new AssistantStreamAccumulator();
    expect(() => accumulator.push(1, { type: 'finish', reason: { kind: 'stop' }, replayState: cycle })).toThrow(TypeError);
    expect(() => accumulator.push(1, { type: 'surprise' } as unknown as ModelChunk)).toThrow('unhandled');
  });

  it('keeps a member called __proto__ as data', () => {
    const replayState: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    const kept = new AssistantStreamAccumulator().push(1, { type: 'finish', reason: { kind: 'stop' }, replayState });
    expect(JSON.stringify(kept)).toContain('"__proto__":{"polluted":true}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('[Q-06] any sequence survives compaction, JSON and expansion', () => {
    const index = fc.nat(2);
    const delta = fc.oneof(
      fc.record({ type: fc.constantFrom('text-delta' as const, 'reasoning-delta' as const), index, text: fc.string({ unit: 'binary' }) }),
      fc.record(
        { type: fc.constant('tool-call-delta' as const), index, id: fc.constantFrom('', 'a', 'b'), name: fc.constantFrom('', 'n', 'm'), argumentsDelta: fc.string() },
        { requiredKeys: ['type', 'index', 'id', 'argumentsDelta'] },
      ),
      fc.record({ type: fc.constant('block-start' as const), index, blockType: fc.constant('text' as const) }),
      fc.record({ type: fc.constant('finish' as const), reason: fc.constant({ kind: 'stop' as const }), replayState: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown) }),
    );
    const time = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 20 }) }, { weight: 1, arbitrary: fc.maxSafeInteger() });
    fc.assert(
      fc.property(fc.array(fc.record({ time, chunk: delta })), (chunks) => {
        const sequence = chunks.map(({ time: at, chunk }) => ({ time: at, chunk: { ...chunk } as ModelChunk }));
        const stored: unknown = JSON.parse(JSON.stringify(compact(sequence)));
        expect(expandAssistantStream(stored as unknown[])).toStrictEqual(sequence);
      }),
      { numRuns: 300 },
    );
  });

  it('takes 100,000 deltas and gives them back within a small CPU budget', () => {
    const count = 100_000;
    const measure = (work: () => void): number => {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    let records: readonly StreamRecord[] = [];
    const accumulateMs = measure(() => {
      const accumulator = new AssistantStreamAccumulator();
      for (let position = 0; position < count; position++) accumulator.push(1000 + position, { type: 'text-delta', index: 0, text: 'word ' });
      records = accumulator.snapshot();
    });
    const expandMs = measure(() => expect(expandAssistantStream(records).length).toBe(count));
    expect(records.length).toBe(1);
    // The goal is 150 ms each; the bound leaves room for a busy machine, and still catches a quadratic path.
    expect(accumulateMs).toBeLessThan(600);
    expect(expandMs).toBeLessThan(600);
  });
});
