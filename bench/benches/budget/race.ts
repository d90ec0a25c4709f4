import { randomBytes } from 'node:crypto';
import type { ReservationId, RunId } from '#contracts';
import { LedgerRepository, type Sql } from '#database';
import { mintId, type NewReservation, type OpenReservation } from '#domain';

export const mint = <Id extends string>(prefix: string): Id => mintId<Id>(prefix, randomBytes(17));
const between = (low: number, high: number): number => low + Math.floor(Math.random() * (high - low + 1));

const LIMIT = 1_000;
const PRICE_MAX = 7;
const SAMPLE_EVERY_MS = 5;

export const newReservation = (estimate: number): NewReservation => ({ id: mint<ReservationId>('res'), effectKey: `bench:${mint('res')}`, operation: 'model', estimate });

export interface RaceTotals {
  operations: number;
  refusals: number;
  /** Connections that were cut under a client at work. */
  kills: number;
  samples: number;
  /** Samples in which a ledger held more than its limit. */
  overshoot: number;
  /** Credits that were left at the end of a round and could not be had. */
  undershoot: number;
  /** What the ledgers booked beyond the provider's bill, after listed unknowns and overruns. */
  billDifference: number;
  unknowns: number;
  reconciled: number;
  overrun: number;
}

export const noTotals = (): RaceTotals => ({ operations: 0, refusals: 0, kills: 0, samples: 0, overshoot: 0, undershoot: 0, billDifference: 0, unknowns: 0, reconciled: 0, overrun: 0 });

/**
 * One budget of 1,000 units, used up by all clients at once at prices of 1 to 7: each reservation is settled for less, the same or more, given
 * up by a dying client before or after the provider's call, or lost with its connection. Then the books are held against the bill.
 */
export async function raceOnce(sql: Sql, outside: Sql, clients: number, totals: RaceTotals): Promise<void> {
  const rootRunId = mint<RunId>('run');
  await sql.change('INSERT INTO budgets (root_run_id, tenant_id, limit_microcredits) VALUES (?, ?, ?)', [rootRunId, 'ten_bench', LIMIT]);
  const round = new Round(sql, rootRunId, totals);
  const watch = watchRound(outside, rootRunId, totals);
  await Promise.all(Array.from({ length: clients }, () => round.client()));
  await watch.stop();
  await round.close();
}

class Round {
  readonly #sql: Sql;
  readonly #ledgers: LedgerRepository;
  readonly #rootRunId: RunId;
  readonly #totals: RaceTotals;
  /** What the provider really did, by reservation. */
  readonly #bill = new Map<string, number>();

  constructor(sql: Sql, rootRunId: RunId, totals: RaceTotals) {
    this.#sql = sql;
    this.#ledgers = new LedgerRepository(sql);
    this.#rootRunId = rootRunId;
    this.#totals = totals;
  }

  /** Goes on until not even the smallest price fits. */
  async client(): Promise<void> {
    for (let price = between(1, PRICE_MAX); ; ) {
      const reservation = await this.#attempt(() => this.#ledgers.reserve(this.#rootRunId, this.#rootRunId, newReservation(price)));
      if (reservation === null && price === 1) return;
      if (reservation === null) this.#totals.refusals++;
      if (reservation) await this.#use(reservation);
      price = reservation === null ? 1 : between(1, PRICE_MAX);
    }
  }

  async #use(reservation: OpenReservation): Promise<void> {
    const fate = Math.random();
    if (fate < 0.03) return; // dies before its call
    const charge = between(0, reservation.estimate + (fate > 0.97 ? 2 : 0));
    this.#bill.set(reservation.id, charge);
    if (fate < 0.06) return; // dies after its call, before anybody heard of its cost
    if (fate < 0.12) return void (await this.#repeated(() => this.#ledgers.expire(this.#rootRunId, reservation)));
    await this.#repeated(() => this.#ledgers.settle(this.#rootRunId, { reservation, charge }));
  }

  /** Undefined when the connection broke: nobody knows whether it was done. */
  async #attempt<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
    this.#totals.operations++;
    try {
      return await work();
    } catch {
      return undefined;
    }
  }

  /** Booking is keyed by its reservation, so that a repeat after a lost answer books nothing. */
  async #repeated(work: () => Promise<boolean>): Promise<void> {
    while ((await this.#attempt(work)) === undefined);
  }

  /** Expires what dead clients left, takes the rest of the budget, reconciles every second unknown, and compares with the bill. */
  async close(): Promise<void> {
    const leftOpen = await this.#sql.rows(`SELECT id, estimate_microcredits FROM reservations WHERE root_run_id = ? AND state = 'open'`, [this.#rootRunId]);
    for (const row of leftOpen) await this.#repeated(() => this.#ledgers.expire(this.#rootRunId, { id: row['id'] as ReservationId, operation: 'model', estimate: Number(row['estimate_microcredits']) }));
    await this.#takeRest();
    const unknown = await this.#sql.rows(`SELECT id FROM reservations WHERE root_run_id = ? AND state = 'unknown'`, [this.#rootRunId]);
    for (const [index, row] of unknown.entries()) if (index % 2 === 0) await this.#reconcile(row['id'] as ReservationId);
    await this.#compare();
  }

  async #takeRest(): Promise<void> {
    const row = (await this.#sql.rows('SELECT limit_microcredits - reserved_microcredits - spent_microcredits AS rest FROM budgets WHERE root_run_id = ?', [this.#rootRunId]))[0];
    const rest = Number(row?.['rest']);
    if (rest === 0) return;
    const reservation = await this.#ledgers.reserve(this.#rootRunId, this.#rootRunId, newReservation(rest));
    if (!reservation) return void (this.#totals.undershoot += rest);
    this.#bill.set(reservation.id, rest);
    await this.#ledgers.settle(this.#rootRunId, { reservation, charge: rest });
  }

  async #reconcile(id: ReservationId): Promise<void> {
    this.#totals.operations++;
    this.#totals.reconciled++;
    await this.#ledgers.reconcile(id, this.#bill.get(id) ?? 0);
  }

  async #compare(): Promise<void> {
    const budget = (await this.#sql.rows('SELECT reserved_microcredits AS reserved, spent_microcredits AS spent, overrun_microcredits AS overrun FROM budgets WHERE root_run_id = ?', [this.#rootRunId]))[0];
    const unknown = await this.#sql.rows(`SELECT id, estimate_microcredits AS estimate FROM reservations WHERE root_run_id = ? AND state = 'unknown'`, [this.#rootRunId]);
    const listed = unknown.reduce((sum, row) => sum + Number(row['estimate']) - (this.#bill.get(row['id'] as string) ?? 0), 0);
    const billed = [...this.#bill.values()].reduce((sum, charge) => sum + charge, 0);
    const booked = Number(budget?.['spent']) + Number(budget?.['overrun']) + Number(budget?.['reserved']);
    this.#totals.billDifference += Math.abs(booked - listed - billed);
    this.#totals.unknowns += unknown.length;
    this.#totals.overrun += Number(budget?.['overrun']);
  }
}

/** Looks at the ledger from outside every 5 ms, and now and then cuts the connection of a client at work. */
function watchRound(outside: Sql, rootRunId: RunId, totals: RaceTotals): { stop(): Promise<void> } {
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      const row = (await outside.rows('SELECT reserved_microcredits + spent_microcredits > limit_microcredits AS is_overdrawn FROM budgets WHERE root_run_id = ?', [rootRunId]))[0];
      totals.samples++;
      totals.overshoot += Number(row?.['is_overdrawn'] ?? 0);
      if (Math.random() < 0.1) totals.kills += await cutSomebody(outside);
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_EVERY_MS));
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await watching;
    },
  };
}

async function cutSomebody(outside: Sql): Promise<number> {
  const busy = await outside.rows(`SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND command = 'Query' AND id <> CONNECTION_ID()`);
  const victim = busy[between(0, busy.length - 1)];
  if (!victim) return 0;
  return outside.change(`KILL CONNECTION ${Number(victim['id'] ?? victim['ID'])}`).then(() => 1, () => 0);
}
