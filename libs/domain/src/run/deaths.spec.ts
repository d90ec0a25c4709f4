import { expect, it } from 'vitest';
import { DEATHS_MAX, isBlamed, killedItsProcess, SUSPECT_DEATHS } from './deaths.ts';

const executing = { status: 'open', effect: 'read', turn: 3, deaths: 0 } as const;

it.each([
  ['a call that was executing', {}, true],
  ['a look at the scratchpad', { effect: 'scratchpad-read' }, true],
  ['a call that died before, once', { deaths: SUSPECT_DEATHS - 1 }, true],
  ['a suspect, which ran alone', { deaths: SUSPECT_DEATHS }, false],
  ['a settled call', { status: 'succeeded' as const }, false],
  ['a call of an earlier turn', { turn: 2 }, false],
  ['a delegation', { effect: 'delegate' }, false],
  ['a note, which its service writes', { effect: 'scratchpad-write' }, false],
  ['a call that was refused unparsed', { effect: 'none' }, false],
])('[Q-16] the death of a process counts for %s: %o %s', (_what, state, blamed) => {
  expect(isBlamed({ ...executing, ...state }, 3)).toBe(blamed);
});

it('[Q-16] the last error says how often the call has killed', () => {
  expect(killedItsProcess()).toMatchObject({ code: 'TOOL_KILLED_PROCESS', message: expect.stringContaining(`${DEATHS_MAX} times`) as string });
});
