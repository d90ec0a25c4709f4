import { QuaestorError, type RunStatus } from '#contracts';
import type { Fence, Ledger } from '#domain';
import { rowsOf, type Outcome, type Statement } from '../sql.ts';

/** The root run's shared facts, read under its lock. */
export interface LockedRoot {
  eventSeq: number;
  cancelRequested: boolean;
  sourceCap: number;
  sourcesRead: number;
  delegations: number;
  workersMax: number;
  ledger: Ledger;
}

export interface Locked {
  run: { turn: number; wakeNumber: number; limitsHit: string; threadId: string; workerNumber: number | null; parentToolCallId: string | null; parentRunId: string | null };
  root: LockedRoot;
}

/**
 * Lock order of every transaction: run, root run, budget. The run row is also its thread's lock, because a thread has one active run:
 * appends to a thread happen under it, so insert order is commit order.
 */
export const lockStatements = (runId: string, rootRunId: string): Statement[] => [
  {
    sql: `SELECT status, lease_epoch, turn, wake_number, limits_hit, thread_id, worker_number, parent_tool_call_id, parent_run_id
      FROM runs WHERE id = ? FOR UPDATE`,
    values: [runId],
  },
  {
    sql: `SELECT r.event_seq, r.cancel_requested_at IS NOT NULL AS cancelled, r.source_cap, r.sources_read, r.delegations, r.workers_max,
      b.limit_microcredits, b.reserved_microcredits, b.spent_microcredits, b.overrun_microcredits
      FROM runs r JOIN budgets b ON b.root_run_id = r.id WHERE r.id = ? FOR UPDATE`,
    values: [rootRunId],
  },
];

/** Reads what `lockStatements` gave, and stops a claimant whose lease has passed to another: zero rows mean stop, never retry. */
export function checkFence(fence: Fence, opened: Outcome[]): Locked {
  const locked = readLocked(fence.runId, opened);
  const run = rowsOf(opened, 0)[0];
  if (run?.lease_epoch !== fence.leaseEpoch || (run.status as RunStatus) !== 'running') {
    throw new QuaestorError('LEASE_LOST', `Another process holds run ${fence.runId} now; this one stops.`);
  }
  return locked;
}

export function readLocked(runId: string, opened: Outcome[]): Locked {
  const run = rowsOf(opened, 0)[0];
  const root = rowsOf(opened, 1)[0];
  if (!run || !root) throw new QuaestorError('JOURNAL_INVALID', `Run ${runId} has no row or no budget.`);
  return {
    run: {
      turn: run.turn as number,
      wakeNumber: run.wake_number as number,
      limitsHit: run.limits_hit as string,
      threadId: run.thread_id as string,
      workerNumber: run.worker_number as number | null,
      parentToolCallId: run.parent_tool_call_id as string | null,
      parentRunId: run.parent_run_id as string | null,
    },
    root: {
      eventSeq: root.event_seq as number,
      cancelRequested: Number(root.cancelled) === 1,
      sourceCap: root.source_cap as number,
      sourcesRead: root.sources_read as number,
      delegations: root.delegations as number,
      workersMax: root.workers_max as number,
      ledger: {
        limit: Number(root.limit_microcredits),
        reserved: Number(root.reserved_microcredits),
        spent: Number(root.spent_microcredits),
        overrun: Number(root.overrun_microcredits),
      },
    },
  };
}
