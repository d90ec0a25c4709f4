import type { AssistantRole, QuaestorError, RunId, TenantId } from '#contracts';
import { attemptPosition, internalEnding } from '#domain';
import { rowsOf, type Row, type Sql } from '../sql.ts';
import { readReservations, settleLost, type ClaimOptions, type LostHolder } from './claim.ts';
import { writeEnding } from './end-run.ts';
import { hasLapsed, lockStatement, readLocked } from './fence.ts';
import { RootWrites } from './writes.ts';

/**
 * Ends a run whose rows cannot be read, as failed: no holder will ever be able to go on with it. Nothing of it is parsed here. A run
 * that somebody holds or that has ended is left alone; safe to repeat. The parent's wake is left to the sweeper.
 */
export async function endUnreadable(sql: Sql, options: ClaimOptions, runId: RunId, cause: QuaestorError): Promise<void> {
  const opening = [
    lockStatement(runId),
    { sql: `SELECT id, operation, effect_key, estimate_microcredits, state FROM reservations WHERE run_id = ? AND state = 'open' FOR UPDATE`, values: [runId] },
    {
      sql: `SELECT r.tenant_id, r.root_run_id, r.role, r.worker_number, (r.status IN ('queued', 'waiting') OR (${hasLapsed('r')})) AS is_free FROM runs r WHERE r.id = ?`,
      values: [runId],
    },
  ];
  await sql.transaction(opening, async (tx, opened) => {
    const row = rowsOf(opened, 2)[0];
    if (!row || Number(row.is_free) !== 1) return;
    const locked = readLocked(runId, opened);
    const run = holderOf(runId, row);
    const writes = new RootWrites({ tenantId: run.tenantId, rootRunId: run.rootRunId, runId }, locked.root);
    settleLost(writes, run, readReservations(rowsOf(opened, 1)), options);
    const neverSent = rowsOf(opened, 1).filter((row) => attemptPosition(row.effect_key as string) === null);
    await writeEnding(tx, writes, { tenantId: run.tenantId, runId, rootRunId: run.rootRunId }, locked, neverSent, internalEnding(run, cause, 'its stored work cannot be read.'), null);
    await tx.batchAndCommit(writes.statements());
  });
}

const holderOf = (id: RunId, row: Row): LostHolder => ({
  id,
  tenantId: row.tenant_id as TenantId,
  rootRunId: row.root_run_id as RunId,
  role: row.role as AssistantRole,
  workerNumber: row.worker_number as number | null,
});
