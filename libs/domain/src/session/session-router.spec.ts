import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headerRow, parseSessionHeader } from './session-header.ts';
import { restoreCurrentSession, restoreSession } from './session-router.ts';
import { SessionRecovery } from './session-recovery.ts';
import { decodeSeqs, encodeSeqs, parseSessionRow } from './session-rows.ts';
import { refuseSession } from './session-types.ts';

const HEADER = { type: 'session', version: 2, id: 's', createdAt: 0, isSeeded: false, delegationDepth: 0 };
const turn = { type: 'turn/start', seq: 0, time: 0, data: { turn: 0 } };

describe('restoreSession', () => {
  it('reads the current version as its reader does, and leaves streams compact', () => {
    const stream = [{ type: 'text-chunks', time0: 0, index: 0, dt: [], texts: ['a'] }];
    const rows = [HEADER, turn, { type: 'assistant/attempt', seq: 1, time: 1, data: { turn: 0, step: 0, stream } }];
    expect(restoreSession(rows)).toEqual(restoreCurrentSession(rows));
    expect(restoreSession(rows).events[1]!.data['stream']).toBe(stream);
  });

  it('lets an event pass that a later version may leave out, and no other', () => {
    const unknown = { type: 'new/thing', seq: 0, time: 0, data: {} };
    expect(restoreSession([HEADER, { ...unknown, ignorable: true }]).events).toHaveLength(1);
    expect(() => restoreSession([HEADER, unknown])).toThrow('has the type "new/thing", which version 2 does not know');
  });

  it('says what to do with an older version, and what it knows of a later one', () => {
    expect(() => restoreSession([{ ...HEADER, version: 1 }])).toThrow('run "quaestor session migrate" on the file first');
    expect(() => restoreSession([{ ...HEADER, version: 3 }])).toThrow('has version 3; versions 1 and 2 can be read');
    expect(() => restoreSession([])).toThrow('is not the header of a session artifact');
  });
});

describe('the header', () => {
  it('comes back from its row', () => {
    const whole = { ...HEADER, cwd: '/work', parentSession: 'p', origin: 'subagent', agentPreset: { name: 'a' } };
    expect(JSON.parse(JSON.stringify(headerRow(parseSessionHeader(whole))))).toEqual(whole);
  });

  it.each<[string, unknown, string]>([
    ['no object', [], 'is not the header'],
    ['another type', { ...HEADER, type: 'turn' }, 'is not the header'],
    ['a textual version', { ...HEADER, version: '2' }, 'has version "2"'],
    ['no id', { ...HEADER, id: undefined }, 'needs an id'],
    ['an empty id', { ...HEADER, id: '' }, 'needs an id'],
    ['a negative time', { ...HEADER, createdAt: -1 }, 'needs createdAt'],
    ['a fractional time', { ...HEADER, createdAt: 0.5 }, 'needs createdAt'],
    ['no seed mark', { ...HEADER, isSeeded: undefined }, 'needs isSeeded'],
    ['a seed length', { ...HEADER, seedLength: 1 }, 'has a member "seedLength" that a header of version 2 does not know'],
    ['a fractional depth', { ...HEADER, delegationDepth: 1.5 }, 'needs a delegationDepth'],
    ['a relative folder', { ...HEADER, cwd: 'here' }, 'has a cwd that is not an absolute path'],
    ['a numeric parent', { ...HEADER, parentSession: 1 }, 'has a parentSession'],
    ['another origin', { ...HEADER, origin: 'user' }, 'has an origin other than subagent'],
    ['an unknown member', { ...HEADER, note: 1 }, 'has a member "note"'],
  ])('refuses %s', (_what, header, sentence) => {
    expect(() => parseSessionHeader(header)).toThrow(sentence);
  });
});

describe('lists of events', () => {
  it('are ranges from three neighbours on', () => {
    expect(encodeSeqs([1, 2, 3, 5, 6, 9, 8, 7])).toEqual([[1, 3], 5, 6, 9, 8, 7]);
    expect(encodeSeqs([])).toEqual([]);
  });

  it('come back whatever they are', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(500)), (seqs) => {
        expect(decodeSeqs(JSON.parse(JSON.stringify(encodeSeqs(seqs))), 501, 1)).toEqual(seqs);
      }),
    );
  });

  it.each<[string, unknown]>([
    ['no list', 1], ['a text', ['1']], ['a fraction', [0.5]], ['a negative number', [-1]], ['a range of one', [[3, 3]]], ['a falling range', [[4, 3]]], ['three ends', [[1, 2, 3]]],
    ['the event itself', [9]], ['a range to itself', [[7, 9]]], ['a number twice', [1, 1]], ['ranges that overlap', [[1, 4], [3, 6]]],
  ])('refuse %s', (_what, value) => {
    expect(() => decodeSeqs(value, 9, 4)).toThrow('Row 4 of the artifact');
  });
});

describe('SessionRecovery', () => {
  const whole = (rows: unknown[]): { kept: number; fault: string | undefined } => {
    const recovery = new SessionRecovery();
    const kept = rows.filter((row) => recovery.push(() => row) !== null).length;
    return { kept, fault: recovery.fault?.message };
  };
  const turnEnd = { type: 'turn/end', seq: 1, time: 1, data: { turn: 0, reason: {} } };

  it('keeps everything before the first broken row', () => {
    expect(whole([HEADER, turn, turnEnd])).toEqual({ kept: 3, fault: undefined });
    expect(whole([HEADER, turn, { ...turnEnd, type: 'step/start', seq: 4 }, 'noise'])).toEqual({ kept: 2, fault: 'Row 3 of the artifact has seq 4 where 1 must stand.' });
    expect(whole([HEADER, turn, { ...turn, type: 'new/thing', seq: 1 }])).toEqual({ kept: 3, fault: undefined });
  });

  it('keeps nothing when a turn ended later, or when the header is broken', () => {
    expect(() => whole([HEADER, turn, null, turnEnd])).toThrow('Row 3 of the artifact is not an object.');
    expect(() => new SessionRecovery().push(() => refuseSession(1, 'is not JSON'))).toThrow('Row 1 of the artifact is not JSON.');
  });
});

it.each<[string, unknown, string]>([
  ['no object', 'x', 'is not an object'],
  ['a gap', { ...turn, seq: 1 }, 'has seq 1 where 0 must stand'],
  ['no time', { ...turn, time: 'now' }, 'needs a time'],
  ['no data', { ...turn, data: [] }, 'needs data that is an object'],
  ['another mark', { ...turn, ignorable: false }, 'has an ignorable other than true'],
  ['an unknown member', { ...turn, note: 1 }, 'has a member "note" that no event has'],
  ['a broken place on the surface', { ...turn, surfaceOp: { op: 'replace', start: 0 } }, 'has a surfaceOp that is neither append nor a replace'],
  ['a negative turn', { ...turn, data: { turn: -1 } }, 'needs a turn that is a whole number'],
])('a row is refused for %s', (_what, row, sentence) => {
  expect(() => parseSessionRow(row, 0, 2, true)).toThrow(sentence);
});
