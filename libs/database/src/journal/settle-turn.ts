import type { Fence, SettledTurn, TurnSettlement } from '#domain';
import type { Sql } from '../sql.ts';
import { checkFence, lockStatement } from './fence.ts';
import { writeSettlement } from './settlement-writes.ts';
import { RootWrites } from './writes.ts';

/** See `RunJournal.settleTurn`. */
export async function settleTurn(sql: Sql, fence: Fence, settlement: TurnSettlement): Promise<SettledTurn> {
  return sql.transaction([lockStatement(fence.runId)], async (tx, opened) => {
    const locked = checkFence(fence, opened);
    const writes = new RootWrites(fence, locked.root);
    const settled = writeSettlement(writes, fence, locked, settlement);
    await tx.batchAndCommit(writes.statements());
    return { ...settled, ledger: writes.ledger, cancelRequested: locked.root.cancelRequested, jobs: writes.jobs };
  });
}
