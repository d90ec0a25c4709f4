import { begunFinishEffect, type AttemptPosition, type Fence, type OpenReservation } from '#domain';
import type { Sql } from '../sql.ts';
import { checkFence, lockStatement } from './fence.ts';

/** See `RunJournal.beginFinish`. The allowance keeps its row: only what it is for is written down now. */
export async function beginFinish(sql: Sql, fence: Fence, reservation: OpenReservation, position: AttemptPosition): Promise<{ cancelRequested: boolean }> {
  return sql.transaction([lockStatement(fence.runId)], async (tx, opened) => {
    const locked = checkFence(fence, opened);
    await tx.batchAndCommit([{ sql: `UPDATE reservations SET effect_key = ? WHERE id = ? AND state = 'open'`, values: [begunFinishEffect(fence.runId, position), reservation.id] }]);
    return { cancelRequested: locked.root.cancelRequested };
  });
}
