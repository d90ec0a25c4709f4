import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expire, left, reconcile, reserve, settle, type Ledger } from './ledger.ts';

const empty = (limit: number): Ledger => ({ limit, reserved: 0, spent: 0, overrun: 0 });
const amount = fc.integer({ min: 0, max: 1_000 });
type Act = { kind: 'reserve'; estimate: number } | { kind: 'settle'; which: number; charge: number };
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('reserve' as const), estimate: amount }),
  fc.record({ kind: fc.constant('settle' as const), which: fc.nat(50), charge: fc.integer({ min: 0, max: 3_000 }) }),
);

/** What really happened, kept beside the ledger. */
interface Truth {
  open: number[];
  charged: number;
}

function perform(ledger: Ledger, truth: Truth, one: Act): Ledger {
  if (one.kind === 'reserve') {
    const next = reserve(ledger, one.estimate);
    if (next) truth.open.push(one.estimate);
    // refused exactly when it does not fit
    expect(next === null).toBe(left(ledger) < one.estimate);
    return next ?? ledger;
  }
  if (truth.open.length === 0) return ledger;
  const [estimate] = truth.open.splice(one.which % truth.open.length, 1);
  const { ledger: next, booked, overrun } = settle(ledger, estimate!, one.charge);
  truth.charged += one.charge;
  expect(booked + overrun).toBe(one.charge);
  expect(booked).toBeLessThanOrEqual(estimate!);
  return next;
}

describe('ledger', () => {
  it('[Q-12] [Q-13] is never overdrawn, and loses or invents no microcredit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5_000 }), fc.array(act, { maxLength: 60 }), (limit, acts) => {
        const truth: Truth = { open: [], charged: 0 };
        let ledger = empty(limit);
        for (const one of acts) {
          ledger = perform(ledger, truth, one);
          expect(ledger.reserved + ledger.spent).toBeLessThanOrEqual(ledger.limit);
          expect(ledger.reserved).toBe(truth.open.reduce((sum, estimate) => sum + estimate, 0));
          expect(ledger.spent + ledger.overrun).toBe(truth.charged);
          expect(Math.min(ledger.reserved, ledger.spent, ledger.overrun, left(ledger))).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  it('gives back what a charge did not need', () => {
    const ledger = reserve(empty(10), 8)!;
    expect(reserve(ledger, 3)).toBeNull();
    expect(reserve(settle(ledger, 8, 1).ledger, 9)).toEqual({ limit: 10, reserved: 9, spent: 1, overrun: 0 });
  });

  it('admits nothing at all with an empty budget, except what is free', () => {
    expect(reserve(empty(0), 1)).toBeNull();
    expect(reserve(empty(0), 0)).toEqual(empty(0));
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses %d as an estimate', (estimate) => {
    expect(() => reserve(empty(Number.MAX_SAFE_INTEGER), estimate)).toThrow(RangeError);
  });

  it('[Q-13] books an unknown outcome in full, and the true charge in its place later', () => {
    const expired = expire(reserve(empty(10), 8)!, 8);
    expect(expired).toEqual({ limit: 10, reserved: 0, spent: 8, overrun: 0 });
    expect(reconcile(expired, 8, 3)).toEqual({ ledger: { limit: 10, reserved: 0, spent: 3, overrun: 0 }, booked: 3, overrun: 0 });
    expect(reconcile(expired, 8, 9)).toEqual({ ledger: { limit: 10, reserved: 0, spent: 8, overrun: 1 }, booked: 8, overrun: 1 });
  });
});
