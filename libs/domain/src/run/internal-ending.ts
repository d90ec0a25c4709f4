import { STOP_REASONS } from '#contracts';
import type { RunEnding, RunRecord } from '../ports/journal.ts';

/**
 * How a run ends that nobody can go on with: as failed, without text of its own. `told` is what the parent of a worker reads of it; clients
 * read `error`.
 */
export function internalEnding({ id, rootRunId, workerNumber }: Pick<RunRecord, 'id' | 'rootRunId' | 'workerNumber'>, error: { code: string; message: string }, told: string): RunEnding {
  const { code, message } = error;
  const isRoot = id === rootRunId;
  const { status } = STOP_REASONS.internal_error;
  return {
    status,
    stopReason: 'internal_error',
    error: { code, message },
    limitsHit: [],
    report: null,
    citations: null,
    delegationResult: isRoot ? null : { kind: 'error', code: 'DELEGATION_FAILED', message: `The worker failed: ${told}` },
    events: isRoot
      ? [{ type: 'error', code, message }, { type: 'run_status', status, stop_reason: 'internal_error' }]
      : [{ type: 'research_status', activity: 'A worker failed.', tool: 'delegation', state: 'error', ...(workerNumber === null ? {} : { worker: workerNumber }) }],
  };
}
