import { settle, type Charge, type Fence, type Ledger, type NewReservation, type OpenReservation, type OutboxJob } from '#domain';
import type { DurableEventBody } from '#contracts';
import { rowsOf, type Sql, type Statement, type UnitOptions } from '../sql.ts';
import { INCARNATION, ROOT_IS_OVER } from './fence.ts';
import { chargeUpdate, ledgerUpdate, reservationInsert } from './ledger-statements.ts';
import { outboxInsert, type Writes } from './writes.ts';

/** What the last statement of a packet read, after all of its writes. */
export interface QuickState {
  ledger: Ledger;
  cancelRequested: boolean;
  sourceCapReached: boolean;
}

const BUDGET_EVENT = `(SELECT CONCAT('{"type":"budget_status","limit":', ROUND(b.limit_microcredits / 1000000, 3), ',"reserved":', ROUND(b.reserved_microcredits / 1000000, 3),
  ',"spent":', ROUND(b.spent_microcredits / 1000000, 3), ',"left":', ROUND((b.limit_microcredits - b.reserved_microcredits - b.spent_microcredits) / 1000000, 3),
  IF(b.forecast_microcredits = 0, '', CONCAT(',"forecast":', ROUND(GREATEST(b.forecast_microcredits, b.spent_microcredits) / 1000000, 3))), '}')
  FROM budgets b WHERE b.root_run_id = ?)`;

/**
 * One transaction in one packet: nothing is read first. Every condition stands in the statement that depends on it and turns a NOT NULL
 * column into NULL, or breaks the budget's CHECK, when it does not hold; the server then refuses the statement, the packet is rolled back,
 * and the caller takes the careful way, which reads first and knows why. So the rows that all workers of a run share are locked for the
 * time of a few statements on the server, not for a round trip to a busy process.
 */
export class QuickWrites implements Writes {
  readonly jobs: OutboxJob[] = [];
  readonly #fence: Fence;
  readonly #statements: Statement[] = [];
  readonly #events: DurableEventBody[] = [];
  #turn: number | null = null;
  #reserved = 0;
  #spent = 0;
  #overrun = 0;
  #readsOpened = 0;
  #readsClosed = 0;
  #sources = 0;

  constructor(fence: Fence) {
    this.#fence = fence;
  }

  /** The cap is a condition of the packet: here every read is admitted. */
  readonly sourceCapReached = false;

  add(...statements: Statement[]): void {
    this.#statements.push(...statements);
  }

  event(...events: DurableEventBody[]): void {
    this.#events.push(...events);
  }

  setTurn(turn: number): void {
    this.#turn = turn;
  }

  countSource(): void {
    this.#sources++;
  }

  reserve(wanted: NewReservation): OpenReservation {
    this.#reserved += wanted.estimate;
    if (wanted.operation === 'read') this.#readsOpened++;
    this.add(reservationInsert(this.#fence, wanted));
    return { id: wanted.id, operation: wanted.operation, estimate: wanted.estimate };
  }

  charge({ reservation, charge }: Charge): void {
    const { booked, overrun } = settle({ limit: reservation.estimate, reserved: reservation.estimate, spent: 0, overrun: 0 }, reservation.estimate, charge);
    this.#reserved -= reservation.estimate;
    this.#spent += booked;
    this.#overrun += overrun;
    if (reservation.operation === 'read') this.#readsClosed++;
    this.add(chargeUpdate(reservation, booked, overrun, 'settled'));
  }

  job(job: OutboxJob): void {
    this.jobs.push(job);
    this.add(outboxInsert(job));
  }

  /** Commits, or returns null when a condition did not hold and nothing was changed, or nobody knows. */
  async commit(sql: Sql, options: UnitOptions = {}): Promise<QuickState | null> {
    const statements = [this.#fenceUpdate(), ...this.#statements, ...this.#rootUpdate(), ...this.#budgetUpdate(), ...this.#eventInsert(), this.#stateSelect()];
    const outcomes = await sql.onePacket(statements, options);
    const row = outcomes && rowsOf(outcomes, statements.length - 1)[0];
    if (!row) return null;
    return {
      cancelRequested: Number(row.cancelled) === 1,
      sourceCapReached: Number(row.full) === 1,
      ledger: {
        limit: Number(row.limit_microcredits),
        reserved: Number(row.reserved_microcredits),
        spent: Number(row.spent_microcredits),
        overrun: Number(row.overrun_microcredits),
      },
    };
  }

  #fenceUpdate(): Statement {
    const { leaseEpoch, incarnation, runId } = this.#fence;
    const holds = `lease_epoch = IF(lease_epoch = ? AND status = 'running' AND ${INCARNATION} = ?, lease_epoch, NULL)`;
    return this.#turn === null
      ? { sql: `UPDATE runs SET ${holds} WHERE id = ?`, values: [leaseEpoch, incarnation, runId] }
      : { sql: `UPDATE runs SET ${holds}, turn = ? WHERE id = ?`, values: [leaseEpoch, incarnation, this.#turn, runId] };
  }

  get #eventCount(): number {
    return this.#events.length + (this.#spent > 0 ? 1 : 0);
  }

  /** Assignments run from left to right, so `reads_open` still sees the old `sources_read`. */
  #rootUpdate(): Statement[] {
    if (this.#eventCount === 0 && this.#reserved <= 0 && this.#readsOpened === 0 && this.#readsClosed === 0 && this.#sources === 0) return [];
    return [
      {
        sql: `UPDATE runs SET event_seq = IF(ended_at IS NULL, LAST_INSERT_ID(event_seq + ?), NULL),
          reads_open = IF(? = 0 OR sources_read + reads_open + ? <= source_cap, reads_open + ? - LEAST(reads_open, ?), NULL), sources_read = sources_read + ? WHERE id = ?`,
        values: [this.#eventCount, this.#readsOpened, this.#readsOpened, this.#readsOpened, this.#readsClosed, this.#sources, this.#fence.rootRunId],
      },
    ];
  }

  #budgetUpdate(): Statement[] {
    if (this.#reserved === 0 && this.#spent === 0 && this.#overrun === 0) return [];
    return [ledgerUpdate(this.#fence.rootRunId, { reserved: this.#reserved, spent: this.#spent, overrun: this.#overrun })];
  }

  #eventInsert(): Statement[] {
    const { rootRunId, tenantId } = this.#fence;
    const count = this.#eventCount;
    if (count === 0) return [];
    const rows = this.#events.map((event, index) => ({ place: '(?, LAST_INSERT_ID() - ?, ?, ?, ?, NOW(3))', values: [rootRunId, count - 1 - index, tenantId, event.type, JSON.stringify(event)] }));
    if (this.#spent > 0) rows.push({ place: `(?, LAST_INSERT_ID() - ?, ?, 'budget_status', ${BUDGET_EVENT}, NOW(3))`, values: [rootRunId, 0, tenantId, rootRunId] });
    return [
      {
        sql: `INSERT INTO run_events (root_run_id, seq, tenant_id, type, body, created_at) VALUES ${rows.map(({ place }) => place).join(', ')}`,
        values: rows.flatMap(({ values }) => values),
      },
    ];
  }

  #stateSelect(): Statement {
    return {
      sql: `SELECT ${ROOT_IS_OVER} AS cancelled, root.sources_read + root.reads_open >= root.source_cap AS full,
        b.limit_microcredits, b.reserved_microcredits, b.spent_microcredits, b.overrun_microcredits
        FROM runs root JOIN budgets b ON b.root_run_id = root.id WHERE root.id = ?`,
      values: [this.#fence.rootRunId],
    };
  }
}
