import { MICROCREDITS_PER_CREDIT, Operation, QuaestorError, type ReadTier, type Usage } from '#contracts';
import type { ModelPrice } from '../ports/language-model.ts';

/** Credits of one search. */
const SEARCH_CREDITS = 1;
/** Credits of one page by tier: fetched directly, or through an ever dearer proxy. */
const READ_CREDITS: Record<ReadTier, number> = { 0: 2, 1: 4, 2: 7, 3: 12 };

/**
 * Microcredits of an operation that is not metered in tokens. `tier` concerns reads only. Throws `OPERATION_UNKNOWN` for anything else:
 * what has no price is refused, never guessed.
 */
export function operationPrice(operation: string, tier: ReadTier = 0): number {
  const known = Operation.safeParse(operation);
  if (known.data === 'search') return SEARCH_CREDITS * MICROCREDITS_PER_CREDIT;
  const credits = known.data === 'read' ? (READ_CREDITS as Record<number, number | undefined>)[tier] : undefined;
  if (credits === undefined) throw new QuaestorError('OPERATION_UNKNOWN', `The operation "${operation}" of tier ${tier} has no price.`);
  return credits * MICROCREDITS_PER_CREDIT;
}

const cachedPrice = (price: ModelPrice): number => price.cachedInputMicrocreditsPer1000 ?? price.inputMicrocreditsPer1000;
const reasoningPrice = (price: ModelPrice): number => price.reasoningMicrocreditsPer1000 ?? price.outputMicrocreditsPer1000;

/** The most that this many tokens can cost, in microcredits, rounded up once: whichever kind of input and output is dearest. */
export function modelCost(price: ModelPrice, inputTokens: number, outputTokens: number): number {
  const input = Math.max(price.inputMicrocreditsPer1000, cachedPrice(price));
  const output = Math.max(price.outputMicrocreditsPer1000, reasoningPrice(price));
  return Math.ceil((inputTokens * input + outputTokens * output) / 1000);
}

/** What a call with this usage costs, in microcredits, rounded up once. Cached tokens are part of the input, reasoning tokens of the output. */
export function usageCost(price: ModelPrice, usage: Usage): number {
  const cached = Math.min(usage.cacheReadTokens ?? 0, usage.inputTokens);
  const reasoning = Math.min(usage.reasoningTokens ?? 0, usage.outputTokens);
  const input = (usage.inputTokens - cached) * price.inputMicrocreditsPer1000 + cached * cachedPrice(price);
  const output = (usage.outputTokens - reasoning) * price.outputMicrocreditsPer1000 + reasoning * reasoningPrice(price);
  return Math.ceil((input + output) / 1000);
}

export const creditsOf = (microcredits: number): number => Math.round(microcredits / (MICROCREDITS_PER_CREDIT / 1000)) / 1000;
