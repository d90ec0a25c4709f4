import { isTerminal, QuaestorError, type RunStatus } from '#contracts';
import type { Fence, Ledger } from '#domain';
import { rowsOf, type Outcome, type Statement } from '../sql.ts';

/** A running run whose term is over and whose process has stopped beating; `alias` names the row of `runs`. */
export const hasLapsed = (alias: string): string =>
  `${alias}.status = 'running' AND (${alias}.lease_expires_at IS NULL OR ${alias}.lease_expires_at < NOW(3))
    AND NOT EXISTS (SELECT 1 FROM lease_owners o WHERE o.owner = ${alias}.lease_owner AND o.expires_at >= NOW(3))`;

/** The root run's shared facts, read under its lock. */
export interface LockedRoot {
  eventSeq: number;
  cancelRequested: boolean;
  /** The root run has ended: its story is closed, and no event follows the terminal one. */
  ended: boolean;
  sourceCap: number;
  sourcesRead: number;
  /** Reads admitted and not yet ended; they count against the source cap. */
  readsOpen: number;
  delegations: number;
  workersMax: number;
  ledger: Ledger;
  /** Microcredits the whole run is expected to spend; 0 where nobody has estimated it. */
  forecast: number;
}

export interface Locked {
  run: { turn: number; wakeNumber: number; limitsHit: string; threadId: string; workerNumber: number | null; parentToolCallId: string | null; parentRunId: string | null };
  root: LockedRoot;
}

/** Workers stop when their root run was cancelled, and also when it has ended in another way without waiting for them. */
export const ROOT_IS_OVER = '(root.cancel_requested_at IS NOT NULL OR root.ended_at IS NOT NULL)';

/** Part of every fenced statement: what a process claimed in one life of the database it must not write into another. */
export const INCARNATION = `(SELECT value FROM meta WHERE name = 'incarnation')`;

/**
 * Lock order of every transaction: run, root run, budget; the joins of this one statement take them in that order. The run row is also its
 * thread's lock, because a thread has one active run: appends to a thread happen under it, so insert order is commit order.
 */
export const lockStatement = (runId: string): Statement => ({
  sql: `SELECT ${INCARNATION} AS incarnation, r.status, r.lease_epoch, r.lease_owner, r.turn, r.wake_number, r.limits_hit, r.thread_id, r.worker_number, r.parent_tool_call_id, r.parent_run_id,
    root.event_seq, ${ROOT_IS_OVER} AS cancelled, root.ended_at IS NOT NULL AS ended, root.source_cap, root.sources_read, root.reads_open, root.delegations,
    root.workers_max, b.limit_microcredits, b.reserved_microcredits, b.spent_microcredits, b.overrun_microcredits,
    b.forecast_microcredits FROM runs r STRAIGHT_JOIN runs root ON root.id = r.root_run_id STRAIGHT_JOIN budgets b ON b.root_run_id = root.id
    WHERE r.id = ? FOR UPDATE`,
  values: [runId],
});

/** Reads the first outcome, that of `lockStatement`, and stops a claimant whose lease has passed to another. */
export function checkFence(fence: Fence, opened: Outcome[]): Locked {
  const locked = readLocked(fence.runId, opened);
  const run = rowsOf(opened, 0)[0];
  if (run?.incarnation !== fence.incarnation || run.lease_epoch !== fence.leaseEpoch || (run.status as RunStatus) !== 'running') {
    throw new QuaestorError('LEASE_LOST', `Another process holds run ${fence.runId} now; this one stops.`);
  }
  return locked;
}

/** Whether the run is as this holder's own last write leaves it: in that state, and not claimed by anybody since. */
export function isLeftAs(state: 'waiting' | 'released' | 'ended', fence: Fence, opened: Outcome[]): boolean {
  const run = rowsOf(opened, 0)[0];
  if (run?.lease_epoch !== fence.leaseEpoch || run.incarnation !== fence.incarnation || run.lease_owner !== null) return false;
  const status = run.status as RunStatus;
  if (state === 'ended') return isTerminal(status);
  return status === (state === 'waiting' ? 'waiting' : 'running');
}

export function readLocked(runId: string, opened: Outcome[]): Locked {
  const row = rowsOf(opened, 0)[0];
  if (!row) throw new QuaestorError('JOURNAL_INVALID', `Run ${runId} has no row or no budget.`);
  return {
    run: {
      turn: row.turn as number,
      wakeNumber: row.wake_number as number,
      limitsHit: row.limits_hit as string,
      threadId: row.thread_id as string,
      workerNumber: row.worker_number as number | null,
      parentToolCallId: row.parent_tool_call_id as string | null,
      parentRunId: row.parent_run_id as string | null,
    },
    root: {
      eventSeq: row.event_seq as number,
      cancelRequested: Number(row.cancelled) === 1,
      ended: Number(row.ended) === 1,
      sourceCap: row.source_cap as number,
      sourcesRead: row.sources_read as number,
      readsOpen: row.reads_open as number,
      delegations: row.delegations as number,
      workersMax: row.workers_max as number,
      forecast: Number(row.forecast_microcredits),
      ledger: {
        limit: Number(row.limit_microcredits),
        reserved: Number(row.reserved_microcredits),
        spent: Number(row.spent_microcredits),
        overrun: Number(row.overrun_microcredits),
      },
    },
  };
}
