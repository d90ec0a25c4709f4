import { runJobId, toolCallJobId, type ErrorResult, type RunId, type ToolCallId } from '#contracts';
import { attemptPosition, type EndedRun, type Fence, type OutboxJob, type RunEnding, type TurnSettlement } from '#domain';
import { rowsOf, type Row, type Sql, type Statement, type Transaction } from '../sql.ts';
import { callUpdate } from './close-turn.ts';
import { releaseHold } from './ledger-statements.ts';
import { lastReport } from './last-report.ts';
import { checkFence, isLeftAs, lockStatement, readLocked, type Locked } from './fence.ts';
import { writeSettlement } from './settlement-writes.ts';
import { joinLimits, RootWrites, toolMessageInsert } from './writes.ts';

const openReservationsOf = (runId: string): Statement => ({
  sql: `SELECT id, operation, effect_key, estimate_microcredits FROM reservations WHERE run_id = ? AND state = 'open' FOR UPDATE`,
  values: [runId],
});

/** A row when the run ended in this very way. */
const thisEnding = (fence: Fence, settlement: TurnSettlement | null, ending: RunEnding): Statement => ({
  sql: `SELECT 1 FROM runs r WHERE r.id = ? AND r.stop_reason = ? AND (? OR EXISTS (SELECT 1 FROM attempts a WHERE a.id = ?))`,
  values: [fence.runId, ending.stopReason, settlement === null, settlement?.attempt.id ?? ''],
});

/** See `RunJournal.endRun`: one commit for the last settlement, the terminal state, the delegation's result and the event. */
export async function endRun(sql: Sql, fence: Fence, settlement: TurnSettlement | null, ending: RunEnding): Promise<EndedRun> {
  const opening = [lockStatement(fence.runId), openReservationsOf(fence.runId), thisEnding(fence, settlement, ending)];
  const ended = await sql.transaction(opening, async (tx, opened) => {
    // written by an earlier try: the next sibling's job, if any, is in the outbox
    if (isLeftAs('ended', fence, opened) && rowsOf(opened, 2).length > 0) return { jobs: [], parentRunId: readLocked(fence.runId, opened).run.parentRunId as RunId | null };
    const locked = checkFence(fence, opened);
    const writes = new RootWrites(fence, locked.root);
    const booked = new Set<string>();
    if (settlement) {
      if (settlement.charge) booked.add(settlement.charge.reservation.id);
      writeSettlement(writes, fence, settlement, { writes, locked });
    }
    await writeEnding(tx, writes, fence, locked, rowsOf(opened, 1).filter((row) => !booked.has(row.id as string)), ending, settlement);
    await tx.batchAndCommit(writes.statements());
    return { jobs: writes.jobs, parentRunId: locked.run.parentRunId as RunId | null };
  });
  return { jobs: [...ended.jobs, ...(await wakeOf(sql, ended.parentRunId))] };
}

/** Ends a run that nobody holds (queued or waiting), for a cancel. Null when it is held or has ended. */
export async function endIdleRun(sql: Sql, fence: Omit<Fence, 'leaseEpoch' | 'incarnation'>, ending: RunEnding): Promise<EndedRun | null> {
  const ended = await sql.transaction([lockStatement(fence.runId), openReservationsOf(fence.runId)], async (tx, opened) => {
    const status = rowsOf(opened, 0)[0]?.status as string | undefined;
    if (status !== 'queued' && status !== 'waiting') return null;
    const locked = readLocked(fence.runId, opened);
    const writes = new RootWrites(fence, locked.root);
    await writeEnding(tx, writes, fence, locked, rowsOf(opened, 1), ending, null);
    await tx.batchAndCommit(writes.statements());
    return { jobs: writes.jobs, parentRunId: locked.run.parentRunId as RunId | null };
  });
  return ended && { jobs: [...ended.jobs, ...(await wakeOf(sql, ended.parentRunId))] };
}

export async function writeEnding(
  tx: Transaction,
  writes: RootWrites,
  fence: Omit<Fence, 'leaseEpoch' | 'incarnation'>,
  locked: Locked,
  openReservations: Row[],
  ending: RunEnding,
  settlement: TurnSettlement | null,
): Promise<void> {
  for (const row of openReservations) bookLeftover(writes, row, ending);
  const report = fence.runId === fence.rootRunId ? await lastReport(tx, fence.runId, ending) : null;
  const leftOpen: ErrorResult = { kind: 'error', code: ending.stopReason === 'cancelled' ? 'RUN_CANCELLED' : 'TOOL_OUTCOME_UNKNOWN', message: leftOpenMessage(ending) };
  writes.add(
    {
      sql: `UPDATE tool_calls SET status = ?, result = ?, error_code = ?, settled_at = NOW(3) WHERE run_id = ? AND status = 'open'`,
      values: [ending.stopReason === 'cancelled' ? 'cancelled' : 'unknown', JSON.stringify(leftOpen), leftOpen.code, fence.runId],
    },
    toolMessageInsert('c.run_id = ?', [fence.runId]),
    {
      sql: `UPDATE runs SET status = ?, stop_reason = ?, report = ?, citations = ?, last_error_code = ?, last_error_message = ?, limits_hit = ?,
        lease_owner = NULL, lease_expires_at = NULL, active_thread_id = NULL, failed_at = IF(? = 'failed', NOW(3), NULL), ended_at = NOW(3) WHERE id = ?`,
      values: [
        ending.status, ending.stopReason, report, ending.citations, ending.error?.code ?? null, ending.error?.message ?? null,
        joinLimits(locked.run.limitsHit, [...ending.limitsHit, ...(settlement?.limitsHit ?? [])]), ending.status, fence.runId,
      ],
    },
  );
  if (ending.delegationResult && locked.run.parentToolCallId) {
    writes.add(callUpdate(locked.run.parentToolCallId, ending.delegationResult));
    await sendNextSibling(tx, writes, locked.run.parentToolCallId);
  }
  writes.event(...ending.events);
  if (fence.runId === fence.rootRunId || writes.rootEnded) writes.addLast(releaseHold(fence.rootRunId));
}

const leftOpenMessage = (ending: RunEnding): string =>
  ending.stopReason === 'cancelled' ? 'The run was cancelled before this call ended.' : `The run ended (${ending.stopReason}) before this call did.`;

/**
 * A search or read may have been sent, and stays spent (failed calls do not refund). A model call that is only reserved was never sent,
 * unless the loop broke in an unexpected place; a finishing allowance whose call has not begun never was.
 */
function bookLeftover(writes: RootWrites, row: Row, ending: RunEnding): void {
  const estimate = Number(row.estimate_microcredits);
  const reservation = { id: row.id, operation: row.operation, estimate };
  const paid = row.operation === 'search' || row.operation === 'read' || (attemptPosition(row.effect_key as string) !== null && ending.stopReason === 'internal_error');
  writes.charge({ reservation, charge: paid ? estimate : 0 }, paid ? 'unknown' : 'settled');
}

/** A worker slot came free: the next delegation of the same turn that was not sent yet gets its job, in the same commit. */
async function sendNextSibling(tx: Transaction, writes: RootWrites, parentToolCallId: string): Promise<void> {
  const next = await tx.rows(
    `SELECT c.id FROM tool_calls c JOIN tool_calls mine ON mine.id = ? WHERE c.run_id = mine.run_id AND c.turn = mine.turn
      AND c.status = 'open' AND c.effect = 'delegate' AND c.delivery = 0 ORDER BY c.call_index LIMIT 1`,
    [parentToolCallId],
  );
  const id = next[0]?.id as ToolCallId | undefined;
  if (!id) return;
  writes.add({ sql: 'UPDATE tool_calls SET delivery = 1, sent_at = NOW(3) WHERE id = ?', values: [id] });
  writes.job({ queue: 'delegations', jobId: toolCallJobId(id, 1), payload: { toolCallId: id } });
}

/**
 * The wake of a parent that waits with no open call left; a fresh read after the commit, so whoever commits last sees it. A parent that
 * is only just parking holds its row lock, which the commit before had to wait for.
 */
async function wakeOf(sql: Sql, parentRunId: RunId | null): Promise<OutboxJob[]> {
  if (parentRunId === null) return [];
  const rows = await sql.rows(
    `SELECT r.wake_number FROM runs r WHERE r.id = ? AND r.status = 'waiting'
      AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.run_id = r.id AND c.turn = r.turn AND c.status = 'open')`,
    [parentRunId],
  );
  return rows.map((row) => ({ queue: 'runs' as const, jobId: runJobId(parentRunId, row.wake_number as number), payload: { runId: parentRunId } }));
}
