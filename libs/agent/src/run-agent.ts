import { assertNever, QuaestorError, type RunId, type StopReason } from '#contracts';
import { decide, limitsBeside, type ClaimedRun, type LoadedRun } from '#domain';
import { crashPoint } from '#planted';
import { loadConversation } from './conversation.ts';
import type { AgentDependencies, AgentExit, RunSignals } from './dependencies.ts';
import { endRun } from './end-run.ts';
import { takeTurn } from './model-turn.ts';
import { firstReservations } from './reservations.ts';
import { resumeCalls } from './resume-calls.ts';
import { RunState } from './run-state.ts';
import { closeTurn, executeTools } from './tool-turn.ts';

/**
 * The one loop, for supervisor and worker runs: claims a run, then decides, does, commits and repeats until it ends, parks or is handed
 * over. A resumed run is simply one whose first iteration finds more history. Everything durable goes through the journal; a lost lease ends
 * the loop with `LEASE_LOST` and no further write. Null when there was nothing to do. Safe to call for any id, at any time.
 */
export async function runAgent(deps: AgentDependencies, runId: RunId, hold: (claimed: ClaimedRun) => RunSignals): Promise<AgentExit | null> {
  const claimed = await deps.journal.claim(runId, (loaded: LoadedRun) => firstReservations(deps, loaded));
  if (!claimed) return null;
  crashPoint('K04');
  const signals = hold(claimed);
  const { loaded } = claimed;
  const state = new RunState(deps, claimed, signals, await loadConversation(loaded, deps.ports), (specs, ports) => resumeCalls(loaded, specs, ports));
  deps.touched(loaded.run.rootRunId);
  for (;;) {
    const exit = await step(state);
    deps.touched(loaded.run.rootRunId);
    if (exit) return exit;
  }
}

async function step(state: RunState): Promise<AgentExit | null> {
  checkSignals(state);
  const next = decide(state.forDecision());
  switch (next.kind) {
    case 'callModel':
      return state.signals.drain.aborted ? release(state) : takeTurn(state, next.turn, next.offerTools);
    case 'executeTools':
      await executeTools(state);
      return null;
    case 'closeTurn':
      await closeTurn(state, []);
      return null;
    case 'park':
      return park(state);
    case 'complete':
      return endRun(state, null, 'answered', state.truncatedText + (state.conversation.lastAssistant?.content ?? ''), null);
    case 'stop':
      return stop(state, next.reason);
    default:
      return assertNever(next);
  }
}

function checkSignals(state: RunState): void {
  const { abort } = state.signals;
  if (!abort.aborted) return;
  const reason: unknown = abort.reason;
  if (reason instanceof QuaestorError && reason.code === 'RUN_CANCELLED') state.cancelRequested = true;
  else throw reason;
}

/** Lets go while workers are out. When the last of them has just ended, the run goes on with their results instead. */
async function park(state: RunState): Promise<AgentExit | null> {
  const { journal } = state.deps;
  const { fence } = state.claimed;
  if (await journal.park(fence)) return 'parked';
  const open = state.calls.filter((call) => call.status === 'open');
  const results = await journal.results(fence, open.map((call) => call.toolCallId));
  for (const call of open) {
    const result = results.get(call.toolCallId);
    if (!result) continue;
    call.status = 'settled';
    call.result = result;
  }
  return null;
}

async function release(state: RunState): Promise<AgentExit> {
  await state.deps.send(await state.deps.journal.release(state.claimed.fence));
  return 'released';
}

/**
 * A worker stops with an error result; a root run still writes its report from what exists, within the finishing allowance. Where nothing
 * was found there is nothing to write from, and no model is asked: it could only tell what it remembers.
 */
async function stop(state: RunState, reason: StopReason): Promise<AgentExit> {
  const { deps, claimed } = state;
  const { role, tenantId, scratchpadThreadId } = claimed.loaded.run;
  if (role === 'supervisor') state.limitsHit = [...new Set([...state.limitsHit, ...limitsBeside(reason, state.forDecision())])];
  const canFinish = role === 'supervisor' && reason !== 'cancelled' && state.finishReservation !== null;
  const hasFindings = canFinish && (await deps.findings(tenantId, scratchpadThreadId)).length > 0;
  const exit = hasFindings ? await takeTurn(state, state.turn + 1, false, reason) : null;
  return exit ?? endRun(state, null, state.cancelRequested ? 'cancelled' : reason, null, null);
}
