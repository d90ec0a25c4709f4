import { z } from 'zod';
import { MODEL_CALL_TIMEOUT_MS, MODEL_IDLE_TIMEOUT_MS, MODEL_OUTPUT_TOKENS_MAX } from '#contracts';
import { parsePrice } from './price.ts';

/** Settings of the model; keys are environment variable names. */
export const modelConfig = z.object({
  MODEL_PROVIDER: z
    .enum(['openai-compatible', 'openai-responses', 'anthropic', 'extractive'])
    .optional()
    .describe('Protocol of the model: openai-compatible, openai-responses, anthropic or extractive. Default: openai-compatible when MODEL_BASE_URL is set, else extractive.'),
  MODEL_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Address of the API, up to and without /chat/completions, /responses or /messages, such as https://api.openai.com/v1. No default.'),
  MODEL_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'holds a space, a line break or a character that no header can carry')
    .optional()
    .describe('Key of the API, sent in the header its protocol names, printable ASCII without spaces. Default: none is sent.'),
  MODEL_NAME: z.string().optional().describe('Model name as the vendor spells it. Needed by all but extractive; no default.'),
  MODEL_PRICE: z
    .string()
    .transform(parsePrice)
    .optional()
    .describe('Credits per 1,000 tokens of the model, such as `input=0.25,cached=0.025,output=1,reasoning=1`; `input` and `output` are needed. Default: the price table.'),
  MODEL_UNKNOWN_PRICE: z
    .enum(['default', 'refuse'])
    .default('default')
    .describe('What happens with a model that has no row in the price table and no MODEL_PRICE: `default` takes 0.25 credits per 1,000 input and 1 per 1,000 output tokens, `refuse` does not start. Default: default.'),
  MODEL_MAX_OUTPUT_TOKENS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(MODEL_OUTPUT_TOKENS_MAX)
    .describe(`Upper bound for one answer, in tokens, 1 to 1000000. Default ${MODEL_OUTPUT_TOKENS_MAX}.`),
  MODEL_IDLE_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_600_000)
    .default(MODEL_IDLE_TIMEOUT_MS)
    .describe(`Longest silence of a model call, in milliseconds, 1 to 3600000; comments do not break a silence. Default ${MODEL_IDLE_TIMEOUT_MS}.`),
  MODEL_CALL_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(1)
    .max(86_400_000)
    .default(MODEL_CALL_TIMEOUT_MS)
    .describe(`Longest model call, in milliseconds, 1 to 86400000. Default ${MODEL_CALL_TIMEOUT_MS}.`),
});
export type ModelConfig = z.infer<typeof modelConfig>;
