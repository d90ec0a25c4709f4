import type { NewReservation, OpenReservation } from '#domain';
import type { Statement } from '../sql.ts';

/** What a transaction adds to a ledger, in microcredits; any of them may be negative or nothing. */
export interface LedgerChange {
  reserved: number;
  spent: number;
  overrun: number;
}

export type ReservationState = 'settled' | 'unknown' | 'reconciled';

/**
 * The ledger's rule as one conditional UPDATE: what does not fit turns a NOT NULL column into NULL, and the server refuses the statement
 * with everything beside it. The CHECK of the table is the same rule once more.
 */
export const ledgerUpdate = (rootRunId: string, { reserved, spent, overrun }: LedgerChange): Statement => ({
  sql: `UPDATE budgets SET reserved_microcredits = IF(reserved_microcredits + spent_microcredits + ? <= limit_microcredits, reserved_microcredits + ?, NULL),
    spent_microcredits = spent_microcredits + ?, overrun_microcredits = overrun_microcredits + ? WHERE root_run_id = ?`,
  values: [reserved + spent, reserved, spent, overrun, rootRunId],
});

export const reservationInsert = (ids: { tenantId: string; rootRunId: string; runId: string }, wanted: NewReservation): Statement => ({
  sql: `INSERT INTO reservations (id, tenant_id, root_run_id, run_id, effect_key, operation, estimate_microcredits, state, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'open', NOW(3))`,
  values: [wanted.id, ids.tenantId, ids.rootRunId, ids.runId, wanted.effectKey, wanted.operation, wanted.estimate],
});

export const chargeUpdate = (reservation: OpenReservation, booked: number, overrun: number, state: ReservationState): Statement => ({
  sql: `UPDATE reservations SET state = ?, charge_microcredits = ?, overrun_microcredits = ?, settled_at = NOW(3) WHERE id = ? AND state = 'open'`,
  values: [state, booked, overrun, reservation.id],
});

/** As `chargeUpdate`, but a reservation that is not in the state `from` refuses the packet, so that a repeat books nothing. */
export const chargeOnce = (reservation: Pick<OpenReservation, 'id'>, from: 'open' | 'unknown', booked: number, overrun: number, state: ReservationState): Statement => ({
  sql: `UPDATE reservations SET charge_microcredits = ?, overrun_microcredits = ?, settled_at = COALESCE(settled_at, NOW(3)),
    state = IF(state = ?, ?, NULL) WHERE id = ?`,
  values: [booked, overrun, from, state, reservation.id],
});

/**
 * Gives the tenant back what a root run that has ended did not spend, once nothing of the run is reserved any more: at the end of the root
 * run, or of the last worker that outlived it. Changes nothing the second time.
 */
export const releaseHold = (rootRunId: string): Statement => ({
  sql: `UPDATE tenant_budgets t JOIN budgets b ON b.tenant_id = t.tenant_id JOIN runs root ON root.id = b.root_run_id
    SET t.held_microcredits = t.held_microcredits - (b.limit_microcredits - b.carried_microcredits),
    t.spent_microcredits = t.spent_microcredits + (b.spent_microcredits - b.carried_microcredits),
    t.overrun_microcredits = t.overrun_microcredits + b.overrun_microcredits, b.released_at = NOW(3)
    WHERE b.root_run_id = ? AND b.released_at IS NULL AND b.reserved_microcredits = 0 AND root.ended_at IS NOT NULL`,
  values: [rootRunId],
});

/** Holds a new run's credits of its tenant's quota; a quota that does not cover them refuses the transaction. */
export const takeHold = (tenantId: string, microcredits: number): Statement => ({
  sql: `INSERT INTO tenant_budgets (tenant_id, held_microcredits) VALUES (?, ?)
    ON DUPLICATE KEY UPDATE held_microcredits = held_microcredits + VALUES(held_microcredits)`,
  values: [tenantId, microcredits],
});
