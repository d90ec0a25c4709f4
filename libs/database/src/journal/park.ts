import { runJobId } from '#contracts';
import type { Fence, OutboxJob } from '#domain';
import { rowsOf, type Sql } from '../sql.ts';
import { checkFence, isLeftAs, lockStatement } from './fence.ts';
import { redeliver } from './redeliver.ts';
import { RootWrites } from './writes.ts';

const openCallsOf = (runId: string) => ({
  sql: `SELECT COUNT(*) AS open_calls FROM tool_calls c JOIN runs r ON r.id = c.run_id AND r.turn = c.turn WHERE r.id = ? AND c.status = 'open'`,
  values: [runId],
});

/** See `RunJournal.park`. The count happens under the run's lock: a result that comes later sees the run waiting and wakes it. */
export async function park(sql: Sql, fence: Fence): Promise<boolean> {
  return sql.transaction([lockStatement(fence.runId), openCallsOf(fence.runId)], async (tx, opened) => {
    if (isLeftAs('waiting', fence, opened)) return true;
    const locked = checkFence(fence, opened);
    if (Number(rowsOf(opened, 1)[0]?.open_calls) === 0) return false;
    const writes = new RootWrites(fence, locked.root);
    writes.add({
      sql: `UPDATE runs SET status = 'waiting', lease_owner = NULL, lease_expires_at = NULL, wake_number = wake_number + 1, waiting_at = NOW(3) WHERE id = ?`,
      values: [fence.runId],
    });
    writes.event({ type: 'run_status', status: 'waiting' });
    await tx.batchAndCommit(writes.statements());
    return true;
  });
}

/**
 * See `RunJournal.release`: the lease lapses now and a new job is on its way, so another process goes on within milliseconds. The job of a
 * release that nobody heard of is in the outbox.
 */
export async function release(sql: Sql, fence: Fence): Promise<OutboxJob[]> {
  return sql.transaction([lockStatement(fence.runId)], async (tx, opened) => {
    if (isLeftAs('released', fence, opened)) return [];
    const locked = checkFence(fence, opened);
    const writes = new RootWrites(fence, locked.root);
    const open = await tx.rows(
      `SELECT id, operation, estimate_microcredits FROM reservations WHERE run_id = ? AND state = 'open' AND operation = 'model'`,
      [fence.runId],
    );
    // released at a turn boundary: a model call that is only reserved was never sent
    for (const row of open) writes.charge({ reservation: { id: row.id, operation: row.operation, estimate: Number(row.estimate_microcredits) }, charge: 0 });
    const wakeNumber = locked.run.wakeNumber + 1;
    writes.add({
      sql: `UPDATE runs SET lease_owner = NULL, lease_expires_at = NOW(3) - INTERVAL 1 SECOND, wake_number = ?, sent_at = NOW(3) WHERE id = ?`,
      values: [wakeNumber, fence.runId],
    });
    if (locked.run.parentToolCallId === null) {
      writes.job({ queue: 'runs', jobId: runJobId(fence.runId, wakeNumber), payload: { runId: fence.runId } });
    } else {
      await redeliver(tx, writes, locked.run.parentToolCallId);
    }
    await tx.batchAndCommit(writes.statements());
    return writes.jobs;
  });
}
