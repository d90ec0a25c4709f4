import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelChunk } from '#contracts';
import { ChunkTally } from './chunk-tally.ts';
import { headerRow, parseSessionHeader } from './session-header.ts';
import { SessionMigration } from './session-migration.ts';
import { parseSessionRow, sessionRow } from './session-rows.ts';
import type { SessionEvent } from './session-types.ts';
import { SessionVerifier } from './session-verifier.ts';

type Row = Omit<SessionEvent, 'seq' | 'time'> & { time?: number };

const HEADER = { type: 'session', version: 1, id: 's1', createdAt: 5, delegationDepth: 0 };
const turnStart = (turn = 0): Row => ({ type: 'turn/start', data: { turn } });
const stepStart = (turn = 0, step = 0): Row => ({ type: 'step/start', data: { turn, step } });
const stepEnd = (turn = 0, step = 0): Row => ({ type: 'step/end', data: { turn, step } });
const turnEnd = (turn = 0): Row => ({ type: 'turn/end', data: { turn, reason: { kind: 'completed' } } });
const feedback: Row = { type: 'feedback/record', data: { text: 'good' } };
const text = (value: string, turn = 0, step = 0): Row => ({ type: 'assistant/chunk', data: { turn, step, chunk: { type: 'text-delta', index: 0, text: value } } });
const finish = (turn = 0, step = 0): Row => ({ type: 'assistant/chunk', data: { turn, step, chunk: { type: 'finish', reason: { kind: 'stop' } } } });
const message = (value: string, sourceEventSeqs?: number[], turn = 0, step = 0): Row => ({
  type: 'assistant/message',
  surfaceOp: 'append',
  ...(sourceEventSeqs && { sourceEventSeqs }),
  data: { turn, step, message: { role: 'assistant', content: value === '' ? [] : [{ type: 'text', text: value }] } },
});
const retry: Row = { type: 'llm/retry', data: { retryId: 'r', turn: 0, step: 0, provider: 'p', mode: 'm', policyKey: 'k', retry: 1, delayMs: 1, failure: {} } };
const retryStarted: Row = { type: 'llm/retry-started', data: { retryId: 'r', turn: 0, step: 0, retry: 1 } };

/** Rows as a file of version 1 holds them, `time` 100 apart unless given. */
const numbered = (rows: Row[]): unknown[] => rows.map((row, seq) => ({ time: 100 * seq, ...row, seq }));

function migrate(rows: Row[], header: object = {}): SessionEvent[] {
  const out: SessionEvent[] = [];
  const parsed = parseSessionHeader({ ...HEADER, ...header });
  const migration = new SessionMigration(parsed, (event) => out.push(event));
  for (const [seq, row] of numbered(rows).entries()) migration.push(parseSessionRow(row, seq, 1, true));
  expect(migration.finish()).toBe(out.length);
  const verifier = new SessionVerifier(parseSessionHeader(JSON.parse(JSON.stringify(headerRow(parsed)))));
  for (const event of out) verifier.push(JSON.parse(JSON.stringify(sessionRow(event))));
  verifier.finish();
  return out;
}

const lines = (events: SessionEvent[]): string[] => events.map(({ seq, type, time }) => `${seq} ${type} @${time}`);

describe('SessionMigration', () => {
  it('carries a session of a header alone over', () => {
    expect(migrate([])).toEqual([]);
  });

  it('puts the stream of a claimed attempt into its message and maps every number', () => {
    const events = migrate([turnStart(), stepStart(), text('hi'), feedback, finish(), message('hi', [2, 4]), stepEnd(), turnEnd(), { type: 'command/run', data: { commandId: 'c', name: 'n', source: {} } }, { type: 'command/done', data: { commandId: 'c', kind: 'k', sourceEventSeq: 5 } }]);
    expect(lines(events)).toEqual(['0 turn/start @0', '1 step/start @100', '2 feedback/record @300', '3 assistant/message @500', '4 step/end @600', '5 turn/end @700', '6 command/run @800', '7 command/done @900']);
    expect(events[3]).not.toHaveProperty('sourceEventSeqs');
    expect(events[3]!.data['stream']).toEqual([
      { type: 'text-chunks', time0: 200, index: 0, dt: [], texts: ['hi'] },
      { type: 'chunk', time: 400, chunk: { type: 'finish', reason: { kind: 'stop' } } },
    ]);
    expect(events[7]!.data['sourceEventSeq']).toBe(3);
  });

  it('keeps a failed attempt in the place and at the time of its last chunk, without a message', () => {
    const events = migrate([turnStart(), stepStart(), feedback, text('half'), retry, retryStarted, text('whole'), finish(), message('whole', [6, 7]), stepEnd(), turnEnd()]);
    expect(lines(events).slice(3, 7)).toEqual(['3 assistant/attempt @300', '4 llm/retry @400', '5 llm/retry-started @500', '6 assistant/message @800']);
    const interleaved = migrate([turnStart(), stepStart(), text('a'), feedback, text('b'), feedback, stepEnd(), turnEnd()]);
    expect(lines(interleaved).slice(2, 5)).toEqual(['2 feedback/record @300', '3 assistant/attempt @400', '4 feedback/record @500']);
  });

  it('takes an answer without sources, or with an empty list, for one whose stream was never kept', () => {
    expect(migrate([turnStart(), stepStart(), message('old'), stepEnd(), turnEnd()])[2]!.data['stream']).toEqual([]);
    const events = migrate([turnStart(), stepStart(), text('other'), message('old', []), stepEnd(), turnEnd()]);
    expect(lines(events).slice(2, 4)).toEqual(['2 assistant/attempt @200', '3 assistant/message @300']);
  });

  it('moves the end of what was inherited, tags it, and adds it where there is none', () => {
    const story = [turnStart(), stepStart(), text('hi'), finish(), message('hi', [2, 3]), stepEnd(), turnEnd()];
    const tagged = migrate([...story, { type: 'session/end-seed', data: {} }, feedback], { seedLength: 7 });
    expect(tagged[5]).toEqual({ type: 'session/end-seed', seq: 5, time: 700, data: { inherited: true } });
    expect(lines(migrate([...story, feedback], { seedLength: 7 })).slice(5)).toEqual(['5 session/end-seed @700', '6 feedback/record @700']);
    expect(lines(migrate(story, { seedLength: 7 })).slice(4)).toEqual(['4 turn/end @600', '5 session/end-seed @600']);
    expect(lines(migrate([], { seedLength: 0 }))).toEqual(['0 session/end-seed @5']);
  });

  it('maps every kind of reference, and leaves texts alone', () => {
    const rows: Row[] = [
      turnStart(), stepStart(), text('hi'), finish(), message('hi', [2, 3]), stepEnd(), turnEnd(),
      { type: 'compaction/start', data: { compactionId: 'c', turn: null } },
      { type: 'compaction/prune', data: { shadowedRange: { start: 4, end: 4 }, shadowedSeqs: [4], shadowedTokenCount: 1 } },
      { type: 'compaction/summary', data: { compactionId: 'c', summary: [], shadowedRange: { start: 4, end: 4 }, shadowedSeqs: [4], shadowedTokenCount: 1, provider: 'p', model: 'm' } },
      { type: 'user/message', surfaceOp: { op: 'replace', start: 4, end: 4 }, sourceEventSeqs: [4], data: { role: 'user', id: 'u', content: [], source: {} } },
      { type: 'compaction/end', data: { compactionId: 'c', turn: null } },
      { type: 'session/title', data: { title: 't', messageSeqs: [4], source: {} } },
      { type: 'session/title-llm-request', data: { titleProvider: 'p', messageSeqs: [4, 10], route: {}, system: 'message 4', messages: ['seq 4'], maxTokens: 1 } },
    ];
    const events = migrate(rows).slice(5);
    for (const event of events.slice(1, 3)) expect(event.data).toMatchObject({ shadowedRange: { start: 2, end: 2 }, shadowedSeqs: [2] });
    expect(events[3]).toMatchObject({ seq: 8, surfaceOp: { op: 'replace', start: 2, end: 2 }, sourceEventSeqs: [2] });
    expect(events[5]!.data['messageSeqs']).toEqual([2]);
    expect(events[6]!.data).toMatchObject({ messageSeqs: [2, 8], system: 'message 4', messages: ['seq 4'] });
  });

  it('ends a turn that an older writer left open', () => {
    expect(lines(migrate([turnStart(0), stepStart(0), text('x'), turnStart(1), turnEnd(1)]))).toEqual(['0 turn/start @0', '1 step/start @100', '2 assistant/attempt @200', '3 step/end @300', '4 turn/end @300', '5 turn/start @300', '6 turn/end @400']);
  });

  it('splits the announcement of a goal into the change and the message, which keeps its number', () => {
    const change = { goalId: 'g', revision: 1 };
    const events = migrate([{ type: 'user/message', surfaceOp: 'append', data: { role: 'user', id: 'u', content: [], source: { kind: 'goal', goalId: 'g', change } } }, { type: 'session/title', data: { title: 't', messageSeqs: [0], source: {} } }]);
    expect(lines(events)).toEqual(['0 goal/change @0', '1 user/message @0', '2 session/title @100']);
    expect(events.map(({ data }) => data['source'] ?? data)).toEqual([change, { kind: 'plugin', plugin: 'goal' }, {}]);
    expect(events[2]!.data['messageSeqs']).toEqual([1]);
  });

  const open = [turnStart(), stepStart()];
  it.each<[string, Row[], string, object?]>([
    ['part of an attempt', [...open, text('a'), text('b'), message('a', [2])], 'Row 6 of the artifact cites chunks that are not one complete ordered attempt of its step.'],
    ['chunks out of order', [...open, text('a'), text('b'), message('a', [3, 2])], 'Row 6 of the artifact cites chunks that are not one complete ordered attempt of its step.'],
    ['no sources beside chunks', [...open, text('a'), message('a')], 'Row 5 of the artifact is an answer that does not say which chunks it came from, although there are some.'],
    ['a message after its step', [...open, text('a'), finish(), stepEnd(), message('a', [2, 3])], 'Row 7 of the artifact (assistant/message) belongs to step 0 of turn 0, which is not open.'],
    ['a message of another step', [...open, text('a'), message('a', [2], 0, 1)], 'Row 5 of the artifact (assistant/message) belongs to step 1 of turn 0, which is not open.'],
    ['an attempt that was claimed twice', [...open, text('a'), message('a', [2]), message('a', [2])], 'Row 6 of the artifact cites chunks that are not one complete ordered attempt of its step.'],
    ['an attempt that the cut divides', [...open, text('a'), text('b')], 'Row 5 of the artifact belongs to an attempt that the end of the inherited events cuts in two.', { seedLength: 3 }],
    ['a message beyond the cut', [...open, text('a'), message('a', [2])], 'Row 5 of the artifact belongs to an attempt that the end of the inherited events cuts in two.', { seedLength: 3 }],
    ['a cut beyond the end', [...open], 'Row 1 of the artifact names 9 inherited events, but the artifact has 2.', { seedLength: 9 }],
    ['a reference to a chunk', [...open, text('a'), finish(), stepEnd(), { type: 'command/done', data: { commandId: 'c', kind: 'k', sourceEventSeq: 3 } }], 'Row 7 of the artifact (command/done) refers to event 3, which is no event of its own any more.'],
    ['an unknown event, though ignorable', [{ type: 'new/thing', ignorable: true, data: {} }], 'Row 2 of the artifact has the type "new/thing", which version 1 does not know.'],
    ['a settlement of version 2', [...open, { type: 'assistant/attempt', data: { turn: 0, step: 0, stream: [] } }], 'Row 4 of the artifact has the type "assistant/attempt", which version 1 does not know.'],
    ['an unexpected member', [{ type: 'turn/start', data: { turn: 0, extra: 1 } }], 'Row 2 of the artifact (turn/start) has a member "extra" that is not part of it.'],
    ['a missing member', [{ type: 'turn/start', data: {} }], 'Row 2 of the artifact (turn/start) has no turn.'],
    ['a chunk of no known type', [...open, { type: 'assistant/chunk', data: { turn: 0, step: 0, chunk: { type: 'odd' } } }], 'Row 4 of the artifact has a chunk that cannot be kept: its type is unknown.'],
    ['content that the stream does not give', [...open, text('a'), finish(), message('b', [2, 3]), stepEnd()], 'Row 4 of the artifact has a stream that gives another content than its message.'],
    ['an answer whose chunks another one divides', [...open, text('a'), finish(), text('b'), finish(), message('ab', [2, 3, 4, 5])], 'Row 8 of the artifact cites chunks that are not one complete ordered attempt of its step.'],
    ['a chunk outside a step', [turnStart(), text('a')], 'Row 3 of the artifact (assistant/chunk) belongs to step 0 of turn 0, which is not open.'],
    ['a chunk of another turn', [...open, text('a', 1)], 'Row 4 of the artifact (assistant/chunk) belongs to step 0 of turn 1, which is not open.'],
    ['a chunk with a member too many', [...open, { type: 'assistant/chunk', data: { turn: 0, step: 0, chunk: {}, extra: 1 } }], 'Row 4 of the artifact (assistant/chunk) has a member "extra" that is not part of it.'],
    ['a change of a goal that is none', [{ type: 'user/message', surfaceOp: 'append', data: { role: 'user', id: 'u', content: [], source: { kind: 'goal', change: 1 } } }], 'Row 2 of the artifact (user/message) has a change of a goal that is not an object.'],
    ['a delivery of another session', [{ type: 'session-log-deepseek/delivery-accepted', data: { sessionId: 'other', throughSeq: 0 } }], 'Row 2 of the artifact marks a delivery of another session.'],
  ])('refuses %s', (_what, rows, sentence, header) => {
    expect(() => migrate(rows, header)).toThrow(sentence);
  });

  it('keeps every chunk of any story, in its attempt and at its time', () => {
    const attempt = fc.record({ texts: fc.array(fc.string(), { minLength: 1, maxLength: 4 }), end: fc.constantFrom('claimed', 'retried', 'left'), noise: fc.boolean() });
    fc.assert(
      fc.property(fc.array(fc.array(attempt, { maxLength: 4 }), { maxLength: 4 }), (turns) => {
        const rows: Row[] = [];
        const before = new ChunkTally();
        const add = (row: Row, turn: number): number => {
          if (row.type === 'assistant/chunk') before.add(turn, 0, 100 * rows.length, row.data['chunk'] as ModelChunk);
          return rows.push(row) - 1;
        };
        for (const [turn, attempts] of turns.entries()) {
          add(turnStart(turn), turn);
          add(stepStart(turn), turn);
          for (const { texts, end, noise } of attempts) {
            const seqs: number[] = [];
            for (const value of texts) {
              seqs.push(add(text(value, turn), turn));
              if (noise) add(feedback, turn);
            }
            seqs.push(add(finish(turn), turn));
            if (end === 'claimed') add(message(texts.join(''), seqs, turn), turn);
            if (end === 'claimed' && texts.join('') === '') (rows.at(-1)!.data['message'] as { content: unknown }).content = [{ type: 'text', text: '' }];
          }
          add(stepEnd(turn), turn);
          add(turnEnd(turn), turn);
        }
        const events = migrate(rows);
        const verifier = new SessionVerifier(parseSessionHeader(headerRow(parseSessionHeader(HEADER))));
        for (const event of events) verifier.push(JSON.parse(JSON.stringify(sessionRow(event))));
        expect(verifier.finish().chunks).toBe(before.toString());
      }),
      { numRuns: 200 },
    );
  });
});
