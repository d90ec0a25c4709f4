import type { QuaestorError, StopReason } from '#contracts';
import type { TurnSettlement } from '#domain';
import { crashPoint } from '#planted';
import type { AgentExit } from './dependencies.ts';
import { rootEnding, workerEnding } from './ending.ts';
import type { RunState } from './run-state.ts';

/** Ends the run, with its last settlement in the same commit, and sends what its end makes possible: the parent's wake, the next sibling. */
export async function endRun(state: RunState, settlement: TurnSettlement | null, reason: StopReason, text: string | null, error: QuaestorError | null): Promise<AgentExit> {
  const { deps, claimed } = state;
  const facts = state.facts();
  const ending = claimed.loaded.run.role === 'supervisor' ? await rootEnding(deps, facts, reason, text, error) : workerEnding(facts, reason, text, error);
  const ended = await deps.journal.endRun(claimed.fence, settlement, ending);
  crashPoint(claimed.loaded.run.role === 'worker' ? 'K15' : 'K20');
  deps.observer.runEnded({ role: claimed.loaded.run.role, stopReason: ending.stopReason });
  await deps.send(ended.jobs);
  return 'ended';
}
