import type { z } from 'zod';

/** What one credit costs. */
export interface CreditPrice {
  amount: number;
  /** ISO 4217, such as `EUR`. */
  currency: string;
}

const PRICE = /^(?<amount>\d{1,9}(?:\.\d{1,9})?) (?<currency>[A-Z]{3})$/;

/** Reads `0.002 EUR`; anything else is an issue. */
export function parseCreditPrice(text: string, context: z.RefinementCtx): CreditPrice {
  const groups = PRICE.exec(text)?.groups;
  if (!groups) context.addIssue({ code: 'custom', message: 'is not an amount and a currency such as "0.002 EUR"' });
  return { amount: Number(groups?.amount), currency: groups?.currency ?? '' };
}

/** Credits in money, to six decimals. */
export const inMoney = ({ amount }: CreditPrice, credits: number): number => Math.round(credits * amount * 1e6) / 1e6;
