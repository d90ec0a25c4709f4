import type { LimitHit, StopReason } from '#contracts';
import { offersTools } from '../prompts/turn-notice.ts';

/** One call of the newest turn, as far as the next step depends on it. */
export interface CallState {
  status: 'open' | 'settled';
  /** A deferred call is answered by another process; the run parks for it. */
  deferred: boolean;
}

/** Everything the next step depends on. The loop fills it from rows and memory; this function has no other input. */
export interface LoopState {
  role: 'supervisor' | 'worker';
  /** Turns settled so far. */
  turn: number;
  turnsMax: number;
  /** Calls of the newest assistant message that have no tool message yet; empty when there are none. */
  calls: CallState[];
  /** The newest message is an assistant answer without tool calls. */
  answered: boolean;
  cancelRequested: boolean;
  deadlineReached: boolean;
  /** The ledger refused the next model call. */
  budgetRefused: boolean;
  /** A charge exceeded its reservation. */
  overrun: boolean;
  /** The same call was made once too often. */
  loopDetected: boolean;
}

export type Step =
  | { kind: 'callModel'; turn: number; offerTools: boolean }
  | { kind: 'executeTools' }
  | { kind: 'park' }
  | { kind: 'closeTurn' }
  | { kind: 'complete' }
  | { kind: 'stop'; reason: StopReason };

/**
 * The one decision of the loop, for supervisor and worker, first iteration and resume alike. Order matters: cancel beats everything; work
 * that was asked for is answered before a limit ends the run, so that no call is left without a result; an answer that exists beats
 * a limit met at the same moment.
 */
export function decide(state: LoopState): Step {
  if (state.cancelRequested) return { kind: 'stop', reason: 'cancelled' };
  const open = state.calls.filter((call) => call.status === 'open');
  if (open.some((call) => !call.deferred)) return { kind: 'executeTools' };
  // workers meet the same deadline and end by themselves, so a parked run is woken soon after it
  if (open.length > 0) return { kind: 'park' };
  if (state.calls.length > 0) return { kind: 'closeTurn' };
  if (state.answered) return { kind: 'complete' };
  if (state.deadlineReached) return { kind: 'stop', reason: 'deadline_reached' };
  if (state.budgetRefused || state.overrun) return { kind: 'stop', reason: 'budget_exhausted' };
  if (state.loopDetected) return { kind: 'stop', reason: 'loop_detected' };
  if (state.turn >= state.turnsMax) return { kind: 'stop', reason: 'turns_exhausted' };
  return { kind: 'callModel', turn: state.turn + 1, offerTools: offersTools(state.turn + 1, state.turnsMax) };
}

/** Limits that a run has met at the moment it stops for another reason: one reason is told as such, the others beside it. */
export function limitsBeside(reason: StopReason, state: LoopState): LimitHit[] {
  if (reason === 'cancelled') return [];
  const met: [LimitHit, StopReason, boolean][] = [
    ['deadline', 'deadline_reached', state.deadlineReached],
    ['credits', 'budget_exhausted', state.budgetRefused || state.overrun],
    ['turns', 'turns_exhausted', state.turn >= state.turnsMax],
  ];
  return met.flatMap(([limit, own, isMet]) => (isMet && own !== reason ? [limit] : []));
}
