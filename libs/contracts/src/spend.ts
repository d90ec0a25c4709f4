import { z } from 'zod';
import { MoneyView } from './estimates.ts';

/** What a tenant has spent, in credits, over all of its runs. */
export const SpendView = z.object({
  object: z.literal('spend'),
  /** `limit` and `left` are null without a quota. A run holds its whole budget until it ends. */
  quota: z.object({ limit: z.number().nullable(), held: z.number(), spent: z.number(), overruns: z.number(), left: z.number().nullable() }),
  /** All charges and overruns in money, or null where a credit has no price. */
  cost: MoneyView.nullable().default(null),
  operations: z.array(z.object({ operation: z.string(), calls: z.number().int(), credits: z.number(), overruns: z.number(), unknown_credits: z.number() })),
});
export type SpendView = z.infer<typeof SpendView>;
