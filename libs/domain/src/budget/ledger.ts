import { MICROCREDITS_PER_CREDIT, type Operation } from '#contracts';
import type { ModelPrice } from '../ports/language-model.ts';

/** Money of one root run, in microcredits. Always `reserved + spent <= limit`; what exceeded a reservation stands in `overrun`. */
export interface Ledger {
  limit: number;
  reserved: number;
  spent: number;
  overrun: number;
}

/** Prices of operations that are not metered in tokens. */
export const OPERATION_PRICES: Record<Extract<Operation, 'search' | 'read'>, number> = {
  search: 1 * MICROCREDITS_PER_CREDIT,
  read: 2 * MICROCREDITS_PER_CREDIT,
};

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

/** Cost of a model call in microcredits, rounded up once. */
export function modelCost(price: ModelPrice, inputTokens: number, outputTokens: number): number {
  return Math.ceil((inputTokens * price.inputMicrocreditsPer1000 + outputTokens * price.outputMicrocreditsPer1000) / 1000);
}

export const creditsOf = (microcredits: number): number => Math.round(microcredits / (MICROCREDITS_PER_CREDIT / 1000)) / 1000;
