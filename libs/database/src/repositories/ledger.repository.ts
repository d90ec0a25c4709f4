import { QuaestorError, type ReservationId, type RunId } from '#contracts';
import { reconcile, settle, type Charge, type NewReservation, type OpenReservation } from '#domain';
import { chargeOnce, ledgerUpdate, type ReservationState } from '../journal/ledger-statements.ts';
import { isRefusedCondition } from '../sql-failure.ts';
import { affectedBy, rowsOf, type Row, type Sql, type Statement, type Transaction } from '../sql.ts';

/** A reservation whose outcome nobody saw: spent in full until somebody knows better. */
export interface UnknownReservation extends OpenReservation {
  rootRunId: RunId;
  settledAt: string;
}

/**
 * The ledger outside of a turn: the same rules as the loop's own commits, each call one transaction in one packet. Safe for any number of
 * processes at once, and to repeat.
 */
export class LedgerRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Sets an estimate aside for a run, or returns null and changes nothing: it does not fit, or its effect was
   * reserved under another id. Throws
   * `NOT_FOUND` when the root run has no budget.
   */
  async reserve(runId: RunId, rootRunId: RunId, wanted: NewReservation): Promise<OpenReservation | null> {
    const outcomes = await this.#sql.onePacket([insertFor(runId, rootRunId, wanted), ledgerUpdate(rootRunId, { reserved: wanted.estimate, spent: 0, overrun: 0 })], { unheard: 'throw' });
    if (!outcomes) return this.#reservedBefore(wanted);
    if (affectedBy(outcomes, 0) === 0) throw new QuaestorError('NOT_FOUND', `Run ${rootRunId} has no budget.`);
    return { id: wanted.id, operation: wanted.operation, estimate: wanted.estimate };
  }

  /** A packet whose answer was lost is sent again, and refused for its own key: what it set aside is there. */
  async #reservedBefore(wanted: NewReservation): Promise<OpenReservation | null> {
    const row = (await this.#sql.rows(`SELECT id, operation, estimate_microcredits FROM reservations WHERE id = ? AND state = 'open'`, [wanted.id]))[0];
    return row ? readReservation(row) : null;
  }

  /** Books a charge. False when the reservation is not open any more; nothing is changed then. */
  settle(rootRunId: RunId, { reservation, charge }: Charge): Promise<boolean> {
    return this.#book(rootRunId, reservation, charge, 'settled');
  }

  /** Books an open reservation in full, as one whose outcome is unknown. False when it is not open any more. */
  expire(rootRunId: RunId, reservation: OpenReservation): Promise<boolean> {
    return this.#book(rootRunId, reservation, reservation.estimate, 'unknown');
  }

  async #book(rootRunId: RunId, reservation: OpenReservation, charge: number, state: ReservationState): Promise<boolean> {
    const { estimate } = reservation;
    const { booked, overrun } = settle({ limit: estimate, reserved: estimate, spent: 0, overrun: 0 }, estimate, charge);
    const outcomes = await this.#sql.onePacket([chargeOnce(reservation, 'open', booked, overrun, state), ledgerUpdate(rootRunId, { reserved: -estimate, spent: booked, overrun })], { unheard: 'throw' });
    return outcomes !== null;
  }

  /** Unknown outcomes of one root run and its workers, oldest first. */
  async unknownOf(rootRunId: RunId): Promise<UnknownReservation[]> {
    const rows = await this.#sql.rows(
      `SELECT id, root_run_id, operation, estimate_microcredits, settled_at FROM reservations WHERE root_run_id = ? AND state = 'unknown' ORDER BY settled_at, id`,
      [rootRunId],
    );
    return rows.map(readUnknown);
  }

  /** Unknown outcomes of one tenant's runs, oldest first, at most `limit`. */
  async unknown(tenantId: string, limit: number): Promise<UnknownReservation[]> {
    const rows = await this.#sql.rows(
      `SELECT v.id, v.root_run_id, v.operation, v.estimate_microcredits, v.settled_at FROM budgets b JOIN reservations v ON v.root_run_id = b.root_run_id
        WHERE b.tenant_id = ? AND v.state = 'unknown' ORDER BY v.settled_at, v.id LIMIT ?`,
      [tenantId, limit],
    );
    return rows.map(readUnknown);
  }

  /**
   * Puts the true charge, as the provider's bill tells it, in the place of an unknown outcome: in the run's ledger, its tenant's, and in
   * what successors carry. Throws `NOT_FOUND` for an unknown id and `INVALID_REQUEST` when the outcome is not unknown, or not any more.
   */
  async reconcile(reservationId: ReservationId, charge: number): Promise<void> {
    const found = (await this.#sql.rows('SELECT id, root_run_id, operation, estimate_microcredits FROM reservations WHERE id = ?', [reservationId]))[0];
    if (!found) throw new QuaestorError('NOT_FOUND', `There is no reservation ${reservationId}.`);
    const { estimate } = readReservation(found);
    const { booked, overrun } = reconcile({ limit: estimate, reserved: 0, spent: estimate, overrun: 0 }, estimate, charge);
    try {
      await this.#sql.transaction([], async (tx) => {
        const chain = await lockChain(tx, found.root_run_id as string);
        await tx.batchAndCommit([chargeOnce({ id: reservationId }, 'unknown', booked, overrun, 'reconciled'), ...corrections(chain, booked - estimate, overrun)]);
      }, { unheard: 'throw' });
    } catch (error) {
      if (!isRefusedCondition(error)) throw error;
      throw new QuaestorError('INVALID_REQUEST', `Reservation ${reservationId} is not an unknown outcome, or has been reconciled already.`, { cause: error });
    }
  }
}

const insertFor = (runId: RunId, rootRunId: RunId, wanted: NewReservation): Statement => ({
  sql: `INSERT INTO reservations (id, tenant_id, root_run_id, run_id, effect_key, operation, estimate_microcredits, state, created_at)
    SELECT ?, b.tenant_id, b.root_run_id, ?, ?, ?, ?, 'open', NOW(3) FROM budgets b WHERE b.root_run_id = ?`,
  values: [wanted.id, runId, wanted.effectKey, wanted.operation, wanted.estimate, rootRunId],
});

const readReservation = (row: Row): OpenReservation => ({ id: row.id as ReservationId, operation: row.operation as OpenReservation['operation'], estimate: Number(row.estimate_microcredits) });

const readUnknown = (row: Row): UnknownReservation => ({ ...readReservation(row), rootRunId: row.root_run_id as RunId, settledAt: (row.settled_at as Date).toISOString() });

/** The root run and its successors, first to last, each locked before its budget. */
async function lockChain(tx: Transaction, rootRunId: string): Promise<string[]> {
  const chain: string[] = [];
  for (let next: string | undefined = rootRunId; next !== undefined; ) {
    chain.push(next);
    const outcomes = await tx.batch([
      { sql: 'SELECT id FROM runs WHERE id = ? FOR UPDATE', values: [next] },
      { sql: 'SELECT id FROM runs WHERE resumed_from = ?', values: [next] },
    ]);
    next = rowsOf(outcomes, 1)[0]?.id as string | undefined;
  }
  return chain;
}

/** A successor's limit shifts with what it carries: its own credits stay what they were. The tenant gets back what was booked too much. */
function corrections([own, ...successors]: string[], spent: number, overrun: number): Statement[] {
  if (own === undefined) throw new Error('a chain has a first run');
  return [
    ledgerUpdate(own, { reserved: 0, spent, overrun }),
    ...successors.map((runId) => ({
      sql: `UPDATE budgets SET carried_microcredits = carried_microcredits + ?, spent_microcredits = spent_microcredits + ?, limit_microcredits = limit_microcredits + ?
        WHERE root_run_id = ?`,
      values: [spent + overrun, spent + overrun, spent + overrun, runId],
    })),
    {
      sql: `UPDATE tenant_budgets t JOIN budgets b ON b.tenant_id = t.tenant_id SET t.spent_microcredits = t.spent_microcredits + ?,
        t.overrun_microcredits = t.overrun_microcredits + ? WHERE b.root_run_id = ? AND b.released_at IS NOT NULL AND b.imported = 0`,
      values: [spent, overrun, own],
    },
  ];
}
