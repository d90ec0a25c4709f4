import type { Fence, SettledTurn, TurnSettlement } from '#domain';
import { rowsOf, type Sql } from '../sql.ts';
import { checkFence, lockStatement } from './fence.ts';
import { QuickWrites } from './quick-writes.ts';
import { readSettled } from './read-settled.ts';
import { canBeQuick, writeSettlement } from './settlement-writes.ts';
import { RootWrites } from './writes.ts';

/** See `RunJournal.settleTurn`. Tried in one packet first; the careful way finds out what a refused packet stumbled over. */
export async function settleTurn(sql: Sql, fence: Fence, settlement: TurnSettlement): Promise<SettledTurn> {
  return (canBeQuick(settlement) && (await settleQuickly(sql, fence, settlement))) || settleCarefully(sql, fence, settlement);
}

async function settleQuickly(sql: Sql, fence: Fence, settlement: TurnSettlement): Promise<SettledTurn | null> {
  const writes = new QuickWrites(fence);
  const settled = writeSettlement(writes, fence, settlement, null);
  const state = await writes.commit(sql);
  return state && { ...settled, ledger: state.ledger, cancelRequested: state.cancelRequested, jobs: writes.jobs };
}

async function settleCarefully(sql: Sql, fence: Fence, settlement: TurnSettlement): Promise<SettledTurn> {
  const opening = [lockStatement(fence.runId), { sql: 'SELECT 1 FROM attempts WHERE id = ?', values: [settlement.attempt.id] }];
  return sql.transaction(opening, async (tx, opened) => {
    const locked = checkFence(fence, opened);
    if (rowsOf(opened, 1).length > 0) return readSettled(tx, settlement, locked);
    const writes = new RootWrites(fence, locked.root);
    const settled = writeSettlement(writes, fence, settlement, { writes, locked });
    await tx.batchAndCommit(writes.statements());
    return { ...settled, ledger: writes.ledger, cancelRequested: locked.root.cancelRequested, jobs: writes.jobs };
  });
}
