import { z } from 'zod';
import { parsePrice } from './price.ts';

export const PROVIDER_IDS = ['openai-compatible', 'openai-responses', 'anthropic', 'extractive'] as const;

export const baseUrl = z.url({ protocol: /^https?$/ });
export const apiKey = z.string().regex(/^[\x21-\x7e]+$/, 'holds a space, a line break or a character that no header can carry');

/** One more model beside the first: what it does not say it takes from the `MODEL_` settings, the key only for the same address. */
const ModelSpec = z.strictObject({
  name: z.string().min(1),
  provider: z.enum(PROVIDER_IDS).optional(),
  baseUrl: baseUrl.optional(),
  apiKey: apiKey.optional(),
  price: z.string().transform(parsePrice).optional(),
});
export type ModelSpec = z.infer<typeof ModelSpec>;

const asJson = (text: string, context: z.RefinementCtx): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // the text may hold a key, so that nothing of it is told
    context.addIssue({ code: 'custom', message: 'is not JSON' });
    return z.NEVER;
  }
};

/** A model's name, or a JSON object `{"name", "provider", "baseUrl", "apiKey", "price"}`. */
export const modelSpec = z
  .string()
  .transform((text, context) => (text.trimStart().startsWith('{') ? asJson(text, context) : { name: text.trim() }))
  .pipe(ModelSpec);

/** Names separated by commas, or a JSON list of names and objects. */
export const modelSpecs = z
  .string()
  .transform((text, context) => (text.trimStart().startsWith('[') ? asJson(text, context) : text.split(',').map((name) => name.trim())))
  .pipe(z.array(z.union([z.string().transform((name) => ({ name })).pipe(ModelSpec), ModelSpec])).max(8));
