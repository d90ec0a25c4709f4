import { MICROCREDITS_PER_CREDIT, QuaestorError } from '#contracts';
import type { ModelPrice } from '#domain';
import type { z } from 'zod';
import { describeModel } from './catalog.ts';
import type { ModelConfig } from './config.ts';

/** 1 credit for 4,000 input tokens or for 1,000 output tokens. */
export const DEFAULT_PRICE: ModelPrice = { inputMicrocreditsPer1000: MICROCREDITS_PER_CREDIT / 4, outputMicrocreditsPer1000: MICROCREDITS_PER_CREDIT };

const MEMBERS = {
  input: 'inputMicrocreditsPer1000',
  cached: 'cachedInputMicrocreditsPer1000',
  output: 'outputMicrocreditsPer1000',
  reasoning: 'reasoningMicrocreditsPer1000',
} as const satisfies Record<string, keyof ModelPrice>;

/** The built-in model costs nothing, whatever a left-over setting says. */
const EXTRACTIVE = 'extractive';
const CREDITS = /^\d{1,6}(\.\d{1,6})?$/;

/** Reads `input=0.25,cached=0.025,output=1,reasoning=1`, in credits per 1,000 tokens; an unknown name, a repeat or a missing one is an issue. */
export function parsePrice(text: string, context: z.RefinementCtx): ModelPrice {
  const price: Partial<ModelPrice> = {};
  const refuse = (message: string) => context.addIssue({ code: 'custom', message });
  for (const entry of text.split(',')) {
    const [name = '', credits = ''] = entry.split('=', 2).map((part) => part.trim());
    const member = Object.hasOwn(MEMBERS, name) ? MEMBERS[name as keyof typeof MEMBERS] : undefined;
    if (member === undefined || !CREDITS.test(credits)) refuse(`"${entry}" is not one of input, cached, output, reasoning with "=" and credits`);
    else if (price[member] !== undefined) refuse(`${name} stands there twice`);
    else price[member] = Math.round(Number(credits) * MICROCREDITS_PER_CREDIT);
  }
  if (price.inputMicrocreditsPer1000 === undefined || price.outputMicrocreditsPer1000 === undefined) refuse('input and output are needed');
  return { inputMicrocreditsPer1000: 0, outputMicrocreditsPer1000: 0, ...price };
}

/** What a model costs: as configured, else by the price table, else the default. Throws `CONFIG_INVALID` where an unknown price is refused. */
export function priceOf(modelName: string, config: Pick<ModelConfig, 'MODEL_PRICE' | 'MODEL_UNKNOWN_PRICE'>): ModelPrice {
  const listed = describeModel(modelName).price;
  if (modelName === EXTRACTIVE && listed) return listed;
  const price = config.MODEL_PRICE ?? listed;
  if (price) return price;
  if (config.MODEL_UNKNOWN_PRICE === 'default') return DEFAULT_PRICE;
  throw new QuaestorError('CONFIG_INVALID', `The model "${modelName}" has no row in the price table: set MODEL_PRICE, or MODEL_UNKNOWN_PRICE=default.`);
}
