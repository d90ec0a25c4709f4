import { z } from 'zod';
import { MODEL_CALL_TIMEOUT_MS, MODEL_IDLE_TIMEOUT_MS, MODEL_OUTPUT_TOKENS_MAX } from '#contracts';
import { apiKey, baseUrl, modelSpec, modelSpecs, PROVIDER_IDS } from './model-spec.ts';
import { parsePrice } from './price.ts';

/** How a setting names a model. */
const SPEC = 'a name, or a JSON object of `name`, `provider`, `baseUrl`, `apiKey` and `price`; the key of MODEL_API_KEY goes to the address of MODEL_BASE_URL only';

/** Settings of the model; keys are environment variable names. */
export const modelConfig = z.object({
  MODEL_PROVIDER: z
    .enum(PROVIDER_IDS)
    .optional()
    .describe('Protocol of the model: openai-compatible, openai-responses, anthropic or extractive. Default: openai-compatible when MODEL_BASE_URL is set, else extractive.'),
  MODEL_BASE_URL: baseUrl
    .optional()
    .describe('Address of the API, up to and without /chat/completions, /responses or /messages, such as https://api.openai.com/v1. No default.'),
  MODEL_API_KEY: apiKey
    .optional()
    .describe('Key of the API, sent in the header its protocol names, printable ASCII without spaces. Default: none is sent.'),
  MODEL_NAME: z.string().optional().describe('Model name as the vendor spells it. Needed by all but extractive; no default.'),
  SUPERVISOR_MODEL: modelSpec.optional().describe(`Model of supervisors: ${SPEC}. Default: MODEL_NAME.`),
  WORKER_MODEL: modelSpec.optional().describe(`Model of workers: ${SPEC}. Default: MODEL_NAME.`),
  SYNTHESIS_MODEL: modelSpec.optional().describe(`Model of calls that only write, such as the report of a stopped run: ${SPEC}. Default: the supervisor's.`),
  MODEL_FALLBACKS: modelSpecs
    .optional()
    .describe('Models to go on with when one fails for good, in order, at most 8: names separated by commas, or a JSON list of names and objects as in SUPERVISOR_MODEL. No default.'),
  MODEL_CONCURRENCY_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('Calls that all processes together may have open at one address with one key, 1 to 100000. No default: no bound.'),
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
  MODEL_THINKING: z
    .enum(['off', 'on'])
    .default('off')
    .describe('Whether Claude models are asked to think before they answer: `on` or `off`; other models think as they are made to. What they think is paid as output and counts against MODEL_MAX_OUTPUT_TOKENS. Default: off.'),
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
