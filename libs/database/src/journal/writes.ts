import type { DurableEventBody, LimitHit } from '#contracts';
import { creditsOf, left, reserve, settle, type Charge, type Ledger, type NewReservation, type OpenReservation, type OutboxJob } from '#domain';
import type { Statement } from '../sql.ts';
import type { LockedRoot } from './fence.ts';
import { chargeUpdate, reservationInsert } from './ledger-statements.ts';

/** What the parts of a transaction write through, whichever way it is committed. */
export interface Writes {
  add(...statements: Statement[]): void;
  event(...events: DurableEventBody[]): void;
  setTurn(turn: number): void;
  countSource(): void;
  readonly sourceCapReached: boolean;
  reserve(wanted: NewReservation): OpenReservation | null;
  charge(charge: Charge): void;
  job(job: OutboxJob): void;
}

/**
 * Collects the writes of one transaction on a root run whose rows are locked: the ledger, its events and its jobs. `statements()` gives
 * them in lock order, with the budget and the event counter written once.
 */
export class RootWrites implements Writes {
  readonly jobs: OutboxJob[] = [];
  readonly #tenantId: string;
  readonly #rootRunId: string;
  readonly #runId: string;
  readonly #root: LockedRoot;
  readonly #statements: Statement[] = [];
  readonly #last: Statement[] = [];
  readonly #events: DurableEventBody[] = [];
  #ledger: Ledger;
  #delegations: number;
  #sourcesRead: number;
  #readsOpen: number;

  constructor(ids: { tenantId: string; rootRunId: string; runId: string }, root: LockedRoot) {
    this.#tenantId = ids.tenantId;
    this.#rootRunId = ids.rootRunId;
    this.#runId = ids.runId;
    this.#root = root;
    this.#ledger = root.ledger;
    this.#delegations = root.delegations;
    this.#sourcesRead = root.sourcesRead;
    this.#readsOpen = root.readsOpen;
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  get delegations(): number {
    return this.#delegations;
  }

  add(...statements: Statement[]): void {
    this.#statements.push(...statements);
  }

  event(...events: DurableEventBody[]): void {
    if (!this.#root.ended) this.#events.push(...events);
  }

  /** For what follows the budget in lock order. */
  addLast(statement: Statement): void {
    this.#last.push(statement);
  }

  /** The root run has ended: its story is closed. */
  get rootEnded(): boolean {
    return this.#root.ended;
  }

  setTurn(turn: number): void {
    this.add({ sql: 'UPDATE runs SET turn = ? WHERE id = ?', values: [turn, this.#runId] });
  }

  countDelegation(): number {
    return ++this.#delegations;
  }

  countSource(): void {
    this.#sourcesRead++;
  }

  /** True when completed sources and reads under way fill the cap: no further read is admitted. */
  get sourceCapReached(): boolean {
    return this.#sourcesRead + this.#readsOpen >= this.#root.sourceCap;
  }

  /** Sets the estimate aside, or returns null and changes nothing; for a root run that has ended nothing is begun any more. */
  reserve(wanted: NewReservation): OpenReservation | null {
    const next = this.#root.ended ? null : reserve(this.#ledger, wanted.estimate);
    if (!next) return null;
    this.#ledger = next;
    if (wanted.operation === 'read') this.#readsOpen++;
    this.add(reservationInsert({ tenantId: this.#tenantId, rootRunId: this.#rootRunId, runId: this.#runId }, wanted));
    return { id: wanted.id, operation: wanted.operation, estimate: wanted.estimate };
  }

  /** Books a charge; `unknown` marks an outcome nobody saw, which stays spent until it is reconciled. */
  charge({ reservation, charge }: Charge, state: 'settled' | 'unknown' = 'settled'): void {
    const { ledger, booked, overrun } = settle(this.#ledger, reservation.estimate, charge);
    this.#ledger = ledger;
    if (reservation.operation === 'read') this.#readsOpen = Math.max(0, this.#readsOpen - 1);
    this.add(chargeUpdate(reservation, booked, overrun, state));
  }

  job(job: OutboxJob): void {
    this.jobs.push(job);
    this.add(outboxInsert(job));
  }

  statements(): Statement[] {
    const statements = [...this.#statements];
    if (this.#ledger !== this.#root.ledger) statements.push(this.#writeLedger());
    statements.push(...this.#writeEvents());
    return [...statements, ...this.#last];
  }

  #writeLedger(): Statement {
    if (this.#ledger.spent !== this.#root.ledger.spent && !this.#root.ended) {
      this.#events.push({
        type: 'budget_status',
        limit: creditsOf(this.#ledger.limit),
        reserved: creditsOf(this.#ledger.reserved),
        spent: creditsOf(this.#ledger.spent),
        left: creditsOf(left(this.#ledger)),
        ...(this.#root.forecast === 0 ? {} : { forecast: creditsOf(Math.max(this.#root.forecast, this.#ledger.spent)) }),
      });
    }
    return {
      sql: 'UPDATE budgets SET reserved_microcredits = ?, spent_microcredits = ?, overrun_microcredits = ? WHERE root_run_id = ?',
      values: [this.#ledger.reserved, this.#ledger.spent, this.#ledger.overrun, this.#rootRunId],
    };
  }

  #writeEvents(): Statement[] {
    const changed = this.#delegations !== this.#root.delegations || this.#sourcesRead !== this.#root.sourcesRead || this.#readsOpen !== this.#root.readsOpen;
    if (this.#events.length === 0 && !changed) return [];
    const statements: Statement[] = [
      {
        sql: 'UPDATE runs SET event_seq = event_seq + ?, delegations = ?, sources_read = ?, reads_open = ? WHERE id = ?',
        values: [this.#events.length, this.#delegations, this.#sourcesRead, this.#readsOpen, this.#rootRunId],
      },
    ];
    if (this.#events.length > 0) statements.push(eventInsert(this.#tenantId, this.#rootRunId, this.#root.eventSeq, this.#events));
    return statements;
  }
}

export const outboxInsert = (job: OutboxJob): Statement => ({
  sql: 'INSERT INTO outbox (queue, job_id, payload, created_at) VALUES (?, ?, ?, NOW(3))',
  values: [job.queue, job.jobId, JSON.stringify(job.payload)],
});

/** Rows for events after `lastSeq`; the caller holds the root run's lock and raises its counter in the same transaction. */
export function eventInsert(tenantId: string, rootRunId: string, lastSeq: number, events: DurableEventBody[]): Statement {
  return {
    sql: `INSERT INTO run_events (root_run_id, seq, tenant_id, type, body, created_at) VALUES ${events.map(() => '(?, ?, ?, ?, ?, NOW(3))').join(', ')}`,
    values: events.flatMap((event, index) => [rootRunId, lastSeq + 1 + index, tenantId, event.type, JSON.stringify(event)]),
  };
}

/** Tool messages of settled calls that have none yet, in call order. Their text is rendered from the call's result when a prompt is built. */
export const toolMessageInsert = (condition: string, values: (string | string[] | number)[]): Statement => ({
  sql: `INSERT INTO messages (tenant_id, thread_id, run_id, role, content, tool_call_id, is_error, created_at)
    SELECT c.tenant_id, r.thread_id, c.run_id, 'tool', '', c.id, c.status <> 'succeeded', NOW(3) FROM tool_calls c JOIN runs r ON r.id = c.run_id
    WHERE ${condition} AND c.status <> 'open' AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.tool_call_id = c.id)
    ORDER BY c.turn, c.call_index`,
  values,
});

/** The column `runs.limits_hit`, a comma list. */
export const limitsOf = (column: string): LimitHit[] => column.split(',').filter((limit) => limit !== '') as LimitHit[];

export const joinLimits = (stored: string, added: readonly LimitHit[]): string => [...new Set([...limitsOf(stored), ...added])].join(',');
