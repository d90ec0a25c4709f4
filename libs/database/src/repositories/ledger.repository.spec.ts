import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReservationId, RunId } from '#contracts';
import { expire, left, reconcile, reserve, settle, type Ledger, type OpenReservation } from '#domain';
import { runOracles } from '../oracles/index.ts';
import { readIncarnation } from '../incarnation.ts';
import { credits, ending, finishReservation, JournalWorld, mint, modelReservation } from '../spec-support/journal-world.ts';
import { LedgerRepository } from './ledger.repository.ts';

let world: JournalWorld;
let ledgers: LedgerRepository;
beforeAll(async () => {
  world = await JournalWorld.open(70);
  ledgers = new LedgerRepository(world.sql);
});
afterAll(async () => {
  const broken = await runOracles(world.database.url, { atRest: true }).then((reports) => reports.filter((report) => report.violations > 0));
  await world?.close();
  expect(broken).toEqual([]);
});

const stored = async (rootRunId: RunId): Promise<Ledger> => {
  const row = (await world.sql.rows('SELECT * FROM budgets WHERE root_run_id = ?', [rootRunId]))[0]!;
  const figure = (name: string): number => Number(row[`${name}_microcredits`]);
  return { limit: figure('limit'), reserved: figure('reserved'), spent: figure('spent'), overrun: figure('overrun') };
};
const paid = (estimate: number) => ({ id: mint<ReservationId>('res'), effectKey: `test:${mint('res')}`, operation: 'model' as const, estimate });
const tenant = async () => (await world.sql.rows('SELECT held_microcredits / 1000000 AS held, spent_microcredits / 1000000 AS spent FROM tenant_budgets WHERE tenant_id = ?', [world.tenantId]))[0]!;

type Act = { kind: 'reserve'; estimate: number } | { kind: 'settle' | 'expire' | 'reconcile'; which: number; charge: number };
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('reserve' as const), estimate: fc.nat(300) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('settle' as const, 'expire' as const, 'reconcile' as const), which: fc.nat(20), charge: fc.nat(400) }) },
);

/** One story told twice: by the pure rules, and by the database. */
class Twins {
  readonly open: OpenReservation[] = [];
  readonly unknown: OpenReservation[] = [];
  ledger: Ledger;
  readonly rootRunId: RunId;

  constructor(rootRunId: RunId, limit: number) {
    this.rootRunId = rootRunId;
    this.ledger = { limit, reserved: 0, spent: 0, overrun: 0 };
  }

  async perform(one: Act): Promise<void> {
    if (one.kind === 'reserve') return this.#reserve(one.estimate);
    const from = one.kind === 'reconcile' ? this.unknown : this.open;
    const [reservation] = from.splice(one.which % Math.max(1, from.length), 1);
    if (!reservation) return;
    const { estimate } = reservation;
    if (one.kind === 'settle') {
      this.ledger = settle(this.ledger, estimate, one.charge).ledger;
      expect(await ledgers.settle(this.rootRunId, { reservation, charge: one.charge })).toBe(true);
      expect(await ledgers.settle(this.rootRunId, { reservation, charge: one.charge })).toBe(false);
    } else if (one.kind === 'expire') {
      this.ledger = expire(this.ledger, estimate);
      this.unknown.push(reservation);
      expect(await ledgers.expire(this.rootRunId, reservation)).toBe(true);
    } else {
      this.ledger = reconcile(this.ledger, estimate, one.charge).ledger;
      await ledgers.reconcile(reservation.id, one.charge);
    }
  }

  async #reserve(estimate: number): Promise<void> {
    const wanted = paid(estimate);
    const next = reserve(this.ledger, estimate);
    const admitted = await ledgers.reserve(this.rootRunId, this.rootRunId, wanted);
    expect(admitted !== null).toBe(next !== null);
    if (!admitted || !next) return;
    this.ledger = next;
    this.open.push(admitted);
    expect(await ledgers.reserve(this.rootRunId, this.rootRunId, wanted)).toEqual(admitted);
    expect(await ledgers.reserve(this.rootRunId, this.rootRunId, { ...wanted, id: mint('res') })).toBeNull();
  }
}

describe('the ledger of a run', () => {
  it('[Q-12] [Q-13] the pure rules and the conditional UPDATE tell the same story, act by act', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000), fc.array(act, { maxLength: 25 }), async (limit, acts) => {
        const rootRunId = await world.newRun({ budgetCredits: limit / 1_000_000 });
        const twins = new Twins(rootRunId, limit);
        for (const one of acts) {
          await twins.perform(one);
          expect(await stored(rootRunId)).toEqual(twins.ledger);
        }
        for (const reservation of twins.open) await ledgers.expire(rootRunId, reservation);
      }),
      { numRuns: 40 },
    );
  });

  it('[Q-12] [L42] [M05] 64 clients at once get exactly what fits, whatever they ask for', async () => {
    const rootRunId = await world.newRun({ budgetCredits: 100 });
    const admitted = await Promise.all(Array.from({ length: 64 }, () => ledgers.reserve(rootRunId, rootRunId, paid(credits(3)))));
    expect(admitted.filter((one) => one !== null)).toHaveLength(33);
    expect(left(await stored(rootRunId))).toBe(credits(1));
    for (const reservation of admitted) if (reservation) await ledgers.expire(rootRunId, reservation);
  });

  it('refuses a run without a budget, an outcome that is known, and an id nobody has', async () => {
    await expect(ledgers.reserve(mint('run'), mint('run'), paid(1))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(ledgers.reconcile(mint('res'), 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const rootRunId = await world.newRun();
    const reservation = (await ledgers.reserve(rootRunId, rootRunId, paid(5)))!;
    await expect(ledgers.reconcile(reservation.id, 1)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await ledgers.expire(rootRunId, reservation);
    expect(await ledgers.unknown(world.tenantId, 1_000)).toContainEqual({ ...reservation, rootRunId, settledAt: expect.any(String) as string });
    await ledgers.reconcile(reservation.id, 2);
    await expect(ledgers.reconcile(reservation.id, 2)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect((await stored(rootRunId)).spent).toBe(2);
  });
});

describe('the quota of a tenant', () => {
  it('[Q-12] holds a run whole until its end, and then keeps what it spent', async () => {
    const before = await tenant();
    const runId = await world.newRun({ budgetCredits: 50 });
    expect(Number((await tenant())['held']) - Number(before['held'])).toBe(50);
    const claimed = await world.claim(runId, [modelReservation(runId, 1), finishReservation(runId)]);
    await ledgers.expire(runId, claimed.reservations[0]!);
    await world.journal.endRun(claimed.fence, null, ending('budget_exhausted'));
    expect(await tenant()).toEqual({ held: before['held'], spent: expect.stringMatching(/^\d/) as string });
    expect(Number((await tenant())['spent']) - Number(before['spent'])).toBe(2);
    await ledgers.reconcile(claimed.reservations[0]!.id, credits(0.5));
    expect(Number((await tenant())['spent']) - Number(before['spent'])).toBe(0.5);
  });

  it('[Q-12] of 64 runs at once only those begin that the quota covers', async () => {
    const { held, spent } = await tenant();
    await world.sql.change('UPDATE tenant_budgets SET limit_microcredits = ? WHERE tenant_id = ?', [credits(Number(held) + Number(spent) + 100), world.tenantId]);
    const outcomes = await Promise.allSettled(Array.from({ length: 64 }, () => world.newRun({ budgetCredits: 9 })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(11);
    expect(outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [(outcome.reason as { code: string }).code] : []))).toEqual(Array(53).fill('QUOTA_EXHAUSTED'));
    await expect(world.sql.change('UPDATE tenant_budgets SET limit_microcredits = 0 WHERE tenant_id = ?', [world.tenantId])).rejects.toThrow();
    await world.sql.change('UPDATE tenant_budgets SET limit_microcredits = NULL WHERE tenant_id = ?', [world.tenantId]);
  });

  it('[Q-13] a worker that outlives its root run begins nothing, and the rest is given back when it ends', async () => {
    const { runId, workers } = await world.waitingRun(1);
    const before = await tenant();
    const worker = await world.claim(workers[0]!, [modelReservation(workers[0]!, 1)]);
    const root = await world.sql.rows('SELECT lease_epoch FROM runs WHERE id = ?', [runId]);
    await world.sql.change(`UPDATE runs SET status = 'running', lease_owner = 'here', lease_expires_at = NOW(3) + INTERVAL 1 MINUTE WHERE id = ?`, [runId]);
    await world.journal.endRun({ tenantId: world.tenantId, runId, rootRunId: runId, leaseEpoch: root[0]!['lease_epoch'] as number, incarnation: await readIncarnation(world.sql) }, null, ending('internal_error'));
    expect((await tenant())['held']).toEqual(before['held']);
    const closed = await world.journal.closeTurn(worker.fence, { settled: [], close: null, nextReservation: modelReservation(workers[0]!, 2) });
    expect(closed.nextReservation).toBeNull();
    await world.journal.endRun(worker.fence, null, ending('cancelled', { kind: 'error', code: 'RUN_CANCELLED', message: 'over' }));
    expect(Number(before['held']) - Number((await tenant())['held'])).toBe(100);
  });
});
