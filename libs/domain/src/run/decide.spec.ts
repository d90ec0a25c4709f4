import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, limitsBeside, type CallState, type LoopState, type Step } from './decide.ts';

const resting: LoopState = { role: 'worker', turn: 3, turnsMax: 8, calls: [], answered: false, cancelRequested: false, deadlineReached: false, budgetRefused: false, overrun: false, loopDetected: false };
const open: CallState = { status: 'open', deferred: false };
const delegated: CallState = { status: 'open', deferred: true };
const settled: CallState = { status: 'settled', deferred: false };
const delivered: CallState = { status: 'settled', deferred: true };

const table: [string, Partial<LoopState>, Step][] = [
  ['calls the model in the first turn', { turn: 0 }, { kind: 'callModel', turn: 1, offerTools: true }],
  ['calls the model in the next turn', {}, { kind: 'callModel', turn: 4, offerTools: true }],
  ['offers no tools in the last turn', { turn: 7 }, { kind: 'callModel', turn: 8, offerTools: false }],
  ['offers no tools when there is one turn only', { turn: 0, turnsMax: 1 }, { kind: 'callModel', turn: 1, offerTools: false }],
  ['stops when its turns are used up', { turn: 8 }, { kind: 'stop', reason: 'turns_exhausted' }],
  ['executes open calls', { calls: [settled, open] }, { kind: 'executeTools' }],
  ['executes what it can before it waits for the rest', { calls: [delegated, open, settled] }, { kind: 'executeTools' }],
  ['parks when only deferred calls are open', { calls: [delegated, settled, delivered] }, { kind: 'park' }],
  ['closes the turn when every call has a result', { calls: [settled, delivered] }, { kind: 'closeTurn' }],
  ['completes with its answer', { answered: true }, { kind: 'complete' }],
  ['completes with an answer that came with the last turn', { answered: true, turn: 8 }, { kind: 'complete' }],
  ['completes with an answer that came with the deadline', { answered: true, deadlineReached: true, budgetRefused: true, overrun: true }, { kind: 'complete' }],
  ['stops at the deadline', { deadlineReached: true }, { kind: 'stop', reason: 'deadline_reached' }],
  ['stops when the next model call cannot be paid', { budgetRefused: true }, { kind: 'stop', reason: 'budget_exhausted' }],
  ['stops when a charge exceeded its reservation', { overrun: true }, { kind: 'stop', reason: 'budget_exhausted' }],
  ['stops when it repeats itself', { loopDetected: true }, { kind: 'stop', reason: 'loop_detected' }],
  ['closes the turn before a loop ends the run', { calls: [settled], loopDetected: true }, { kind: 'closeTurn' }],
  ['names the budget before the loop', { budgetRefused: true, loopDetected: true }, { kind: 'stop', reason: 'budget_exhausted' }],
  ['names the loop before the turns', { loopDetected: true, turn: 8 }, { kind: 'stop', reason: 'loop_detected' }],
  ['names the deadline before the budget', { deadlineReached: true, budgetRefused: true }, { kind: 'stop', reason: 'deadline_reached' }],
  ['names the budget before the turns', { budgetRefused: true, turn: 8 }, { kind: 'stop', reason: 'budget_exhausted' }],
  ['gives open calls their results even after the deadline', { calls: [open], deadlineReached: true }, { kind: 'executeTools' }],
  ['waits for delegations even after the deadline, which they meet too', { calls: [delegated], deadlineReached: true }, { kind: 'park' }],
  ['closes the turn before a limit ends the run', { calls: [settled], deadlineReached: true, overrun: true }, { kind: 'closeTurn' }],
  ['stops at once when cancelled', { cancelRequested: true, calls: [open], answered: true, deadlineReached: true }, { kind: 'stop', reason: 'cancelled' }],
];

const callState: fc.Arbitrary<CallState> = fc.record({ status: fc.constantFrom('open', 'settled'), deferred: fc.boolean() });
const loopState: fc.Arbitrary<LoopState> = fc.record({
  role: fc.constantFrom('supervisor', 'worker'),
  turn: fc.nat(20),
  turnsMax: fc.integer({ min: 1, max: 12 }),
  calls: fc.array(callState, { maxLength: 5 }),
  answered: fc.boolean(),
  cancelRequested: fc.boolean(),
  deadlineReached: fc.boolean(),
  budgetRefused: fc.boolean(),
  overrun: fc.boolean(),
  loopDetected: fc.boolean(),
});
const always = (holds: (state: LoopState, step: Step) => boolean) => fc.assert(fc.property(loopState, (state) => holds(state, decide(state))), { numRuns: 2_000 });
const isOpen = (call: CallState) => call.status === 'open';

describe('decide', () => {
  it.each(table)('%s', (_what, state, step) => {
    expect(decide({ ...resting, ...state })).toEqual(step);
  });

  it('[Q-17] never calls the model beyond the last turn, nor with tools in it', () => {
    always(({ turn, turnsMax }, step) => step.kind !== 'callModel' || (step.turn === turn + 1 && step.turn <= turnsMax && step.offerTools === step.turn < turnsMax));
  });

  it('[Q-01] never goes on, ends or waits while a call needs executing, unless cancelled', () => {
    always(({ calls, cancelRequested }, step) => cancelRequested || !calls.some((call) => isOpen(call) && !call.deferred) || step.kind === 'executeTools');
  });

  it('[Q-01] never calls the model or ends before every call has its tool message, unless cancelled', () => {
    always(({ calls, cancelRequested }, step) => cancelRequested || calls.length === 0 || ['executeTools', 'park', 'closeTurn'].includes(step.kind));
  });

  it('[Q-09] parks only for a call that somebody else answers', () => {
    always(({ calls }, step) => step.kind !== 'park' || (calls.some(isOpen) && calls.filter(isOpen).every((call) => call.deferred)));
  });

  it('[Q-18] stops for a cancel whatever else is true, and for nothing but a cancel as cancelled', () => {
    always(({ cancelRequested }, step) => cancelRequested === (step.kind === 'stop' && step.reason === 'cancelled'));
  });

  it('[Q-12] never calls the model with a budget that refused it', () => {
    always(({ budgetRefused, overrun, deadlineReached }, step) => step.kind !== 'callModel' || (!budgetRefused && !overrun && !deadlineReached));
  });

  it('depends on its state alone', () => {
    always((state, step) => JSON.stringify(decide(structuredClone(state))) === JSON.stringify(step));
  });
});

describe('limits met at the moment of the stop', () => {
  it.each([
    ['the one it stopped for is not told twice', 'deadline_reached', { deadlineReached: true }, []],
    ['credits and turns beside the deadline', 'deadline_reached', { deadlineReached: true, budgetRefused: true, turn: 8 }, ['credits', 'turns']],
    ['an overrun counts as credits', 'loop_detected', { loopDetected: true, overrun: true }, ['credits']],
    ['turns beside the budget', 'budget_exhausted', { budgetRefused: true, turn: 8 }, ['turns']],
    ['none beside a cancel', 'cancelled', { cancelRequested: true, deadlineReached: true, turn: 8 }, []],
  ] as const)('%s', (_, reason, state, limits) => {
    expect(limitsBeside(reason, { ...resting, ...state })).toEqual(limits);
  });

  it('never names the reason itself', () => {
    const own = { deadline_reached: 'deadline', budget_exhausted: 'credits', turns_exhausted: 'turns' } as const;
    fc.assert(
      fc.property(loopState, (state) => {
        const step = decide(state);
        if (step.kind === 'stop' && Object.hasOwn(own, step.reason)) expect(limitsBeside(step.reason, state)).not.toContain(own[step.reason as keyof typeof own]);
      }),
    );
  });
});
