import { QuaestorError, type ToolCallId, type ToolResult } from '#contracts';
import { crashPoint } from '#planted';
import { renderForModel, appendResult } from './conversation.ts';
import type { RunState } from './run-state.ts';
import { executeCall, type CallInProgress, type ExecutedCall } from './tool-execution.ts';

/** Runs every immediate call of the turn at once; each settles on its own, and the last one closes the turn in the same commit. */
export async function executeTools(state: RunState): Promise<void> {
  const open = state.calls.filter((call) => call.status === 'open' && call.spec?.effect !== 'delegate');
  let left = open.length;
  let last: ExecutedCall | null = null;
  const outcomes = await Promise.allSettled(
    open.map(async (call) => {
      const executed = await observedCall(state, call);
      crashPoint('K14');
      call.status = 'settled';
      call.result = executed.settled.result;
      call.rendered = executed.rendered;
      // awaited here: a rejection that nobody hears while a slow call goes on would end the process
      if (--left > 0) await settleEarly(state, executed);
      else last = executed;
    }),
  );
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) return afterAbort(state, failure.reason);
  const closable = state.calls.every((call) => call.status === 'settled');
  if (last && closable) await closeTurn(state, [last]);
  else if (last) await settleEarly(state, last);
}

async function observedCall(state: RunState, call: CallInProgress): Promise<ExecutedCall> {
  const { deps } = state;
  const startedAtMs = deps.nowMs();
  const executed = await executeCall(deps, call, state.callerOf(call.toolCallId), state.author, state.msLeft, state.signals.abort);
  const outcome = executed.settled.result.kind === 'error' ? 'error' : 'ok';
  if (call.spec) deps.observer.toolSettled({ activity: call.spec.activity, outcome, durationMs: deps.nowMs() - startedAtMs });
  return executed;
}

/** A cancel ends the run through the next decision; anything else ends the loop. */
function afterAbort(state: RunState, reason: unknown): void {
  if (reason instanceof QuaestorError && reason.code === 'RUN_CANCELLED') state.cancelRequested = true;
  else throw reason;
}

async function settleEarly(state: RunState, { settled }: ExecutedCall): Promise<void> {
  if (settled.alreadySettled && settled.events.length === 0 && !settled.charge) return;
  const closed = await state.deps.journal.closeTurn(state.claimed.fence, { settled: [settled], close: null, nextReservation: null });
  state.cancelRequested ||= closed.cancelRequested;
  keepFirst(state, closed.results);
}

/** Another process may have settled a call first: its result is the canonical one. */
function keepFirst(state: RunState, results: Map<ToolCallId, ToolResult>): void {
  for (const call of state.calls) {
    const stored = results.get(call.toolCallId);
    if (!stored || JSON.stringify(stored) === JSON.stringify(call.result)) continue;
    call.result = stored;
    call.rendered = null;
  }
}

/** Writes the tool messages of a turn whose calls all have results, with the last of them and the next model call's reservation. */
export async function closeTurn(state: RunState, last: ExecutedCall[]): Promise<void> {
  const { run } = state.claimed.loaded;
  const texts = await renderAll(state);
  const closed = await state.deps.journal.closeTurn(state.claimed.fence, {
    settled: last.map(({ settled }) => settled),
    close: { toolCallIds: state.calls.map((call) => call.toolCallId) },
    nextReservation: state.turn >= run.turnsMax ? null : state.newReservation(state.turn + 1, 1, texts),
  });
  keepFirst(state, closed.results);
  for (const [position, text] of (await renderAll(state)).entries()) {
    const call = state.calls[position];
    if (!call?.result) continue;
    appendResult(state.conversation, call, call.result, text, state.turn);
    state.account(call.name, call.result);
    if (call.identity !== null) state.repeats.keep(call.identity, call.result);
  }
  state.calls = [];
  state.reservation = closed.nextReservation;
  state.budgetRefused = closed.nextReservation === null && state.turn < run.turnsMax;
  state.overrun = closed.ledger.overrun > 0;
  state.cancelRequested ||= closed.cancelRequested;
  if (closed.sourceCapReached && !state.limitsHit.includes('source_cap') && run.role === 'supervisor') state.limitsHit.push('source_cap');
}

const renderAll = (state: RunState): Promise<string[]> =>
  Promise.all(
    state.calls.map(async (call) => {
      if (call.rendered !== null) return call.rendered;
      if (!call.result) throw new QuaestorError('JOURNAL_INVALID', `Tool call ${call.toolCallId} has no result although its turn is over.`);
      return renderForModel(call.result, state.claimed.loaded, state.deps.ports);
    }),
  );
