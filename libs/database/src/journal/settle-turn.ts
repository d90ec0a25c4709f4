import type { Fence, SettledTurn, TurnSettlement } from '#domain';
import { rowsOf, type Outcome, type Sql, type Statement } from '../sql.ts';
import { checkFence, lockStatements } from './fence.ts';
import { writeSettlement, type SettlementFacts } from './settlement-writes.ts';
import { RootWrites } from './writes.ts';

export const needsReadCount = (settlement: TurnSettlement): boolean => settlement.calls.some((call) => call.reservation?.operation === 'read');

export const readsUnderWayStatement = (rootRunId: string): Statement => ({
  sql: `SELECT COUNT(*) AS reads_under_way FROM reservations WHERE root_run_id = ? AND state = 'open' AND operation = 'read'`,
  values: [rootRunId],
});

export const factsFrom = (opened: Outcome[], index: number, asked: boolean): SettlementFacts => ({
  readsUnderWay: asked ? Number(rowsOf(opened, index)[0]?.reads_under_way ?? 0) : 0,
});

/** See `RunJournal.settleTurn`. */
export async function settleTurn(sql: Sql, fence: Fence, settlement: TurnSettlement): Promise<SettledTurn> {
  const asksReads = needsReadCount(settlement);
  const opening = [...lockStatements(fence.runId, fence.rootRunId), ...(asksReads ? [readsUnderWayStatement(fence.rootRunId)] : [])];
  return sql.transaction(opening, async (tx, opened) => {
    const locked = checkFence(fence, opened);
    const writes = new RootWrites(fence, locked.root);
    const settled = writeSettlement(writes, fence, locked, factsFrom(opened, 2, asksReads), settlement);
    await tx.batchAndCommit(writes.statements());
    return { ...settled, ledger: writes.ledger, cancelRequested: locked.root.cancelRequested, jobs: writes.jobs };
  });
}
