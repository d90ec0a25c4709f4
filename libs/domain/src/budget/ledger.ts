/** Money of one root run, in microcredits. Always `reserved + spent <= limit`; what exceeded a reservation stands in `overrun`. */
export interface Ledger {
  limit: number;
  reserved: number;
  spent: number;
  overrun: number;
}

export const left = (ledger: Ledger): number => ledger.limit - ledger.reserved - ledger.spent;

/** Admits an estimate or refuses it: the same predicate as the CHECK constraint of the table. Null means refused; nothing changed. */
export function reserve(ledger: Ledger, estimate: number): Ledger | null {
  if (!Number.isSafeInteger(estimate) || estimate < 0) throw new RangeError(`an estimate is a whole number of microcredits, not ${estimate}`);
  return left(ledger) < estimate ? null : { ...ledger, reserved: ledger.reserved + estimate };
}

/**
 * Books the charge of a reservation that is open. Never refused: what exceeds the estimate is a listed overrun, because the provider has
 * done the work already.
 */
export function settle(ledger: Ledger, estimate: number, charge: number): { ledger: Ledger; booked: number; overrun: number } {
  const booked = Math.min(charge, estimate);
  const overrun = charge - booked;
  return {
    ledger: { ...ledger, reserved: ledger.reserved - estimate, spent: ledger.spent + booked, overrun: ledger.overrun + overrun },
    booked,
    overrun,
  };
}

/** Books in full a reservation whose outcome nobody saw: it stays spent until it is reconciled. */
export const expire = (ledger: Ledger, estimate: number): Ledger => settle(ledger, estimate, estimate).ledger;

/**
 * Puts the true charge in the place of an expired reservation's estimate. What was booked too much becomes free again; what exceeds the
 * estimate is a listed overrun, as in `settle`.
 */
export function reconcile(ledger: Ledger, estimate: number, charge: number): { ledger: Ledger; booked: number; overrun: number } {
  return settle({ ...ledger, reserved: ledger.reserved + estimate, spent: ledger.spent - estimate }, estimate, charge);
}
