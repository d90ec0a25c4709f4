import { EstimateMode, ReadTier, SUPERVISOR_TURNS_MAX, WORKER_TURNS_MAX } from '#contracts';
import { modelConfig } from '#models';
import { platformConfig } from '#platform';
import { z } from 'zod';
import { parseCreditPrice } from './estimates/credit-price.ts';

const turns = (shipped: number, whose: string) =>
  z.coerce.number().int().min(2).max(200).default(shipped).describe(`turns a ${whose} run may take, 2 to 200; default ${shipped}.`);

/** What decides the price of a model: a forecast needs what the workers have. */
const modelPrices = modelConfig.pick({
  MODEL_PROVIDER: true,
  MODEL_BASE_URL: true,
  SUPERVISOR_MODEL: true,
  WORKER_MODEL: true,
  SYNTHESIS_MODEL: true,
  MODEL_PRICE: true,
  MODEL_UNKNOWN_PRICE: true,
  MODEL_MAX_OUTPUT_TOKENS: true,
}).shape;

/** Settings of the gateway; each key is the environment variable of that name. */
export const gatewayConfig = platformConfig.extend({
  GATEWAY_HOST: z.string().default('127.0.0.1').describe('address the API listens on; default 127.0.0.1.'),
  GATEWAY_PORT: z.coerce.number().int().min(0).max(65_535).default(4100).describe('port of the API, 0 to 65535 (0 takes a free one); default 4100.'),
  DATABASE_URL: z.string().regex(/^mysql:\/\//, 'must start with mysql://').describe('mysql://user:password@host:port/database'),
  REDIS_URL: z.string().regex(/^rediss?:\/\//, 'must start with redis:// or rediss://').describe('redis://host:port, or rediss:// for TLS.'),
  ADMIN_KEY: z.string().min(16, 'must have at least 16 characters').optional().describe('key of the queue dashboard, at least 16 characters; default: no dashboard.'),
  BOOTSTRAP_API_KEY: z
    .string()
    .regex(/^qk_[A-Za-z0-9_-]{20,128}$/, 'must be qk_ and 20 to 128 letters, digits, _ or -')
    .optional()
    .describe('API key that is made sure to exist at start, qk_ and 20 to 128 letters, digits, _ or -; default: none.'),
  RESEARCH_SUPERVISOR_MAX_TURNS: turns(SUPERVISOR_TURNS_MAX, 'supervisor'),
  RESEARCH_WORKER_MAX_TURNS: turns(WORKER_TURNS_MAX, 'worker'),
  ...modelPrices,
  READ_TIER: z.coerce.number().pipe(ReadTier).default(0).describe('How pages are fetched, for forecasts; as the workers have it. Default 0.'),
  ESTIMATE_MODE: EstimateMode.default('warn').describe('What the forecast of a new run does when its upper bound is above the budget: off, warn, enforce (the run is refused) or cap (warns, and lowers a budget above the forecast); a request may name another. Default warn.'),
  CREDIT_PRICE: z.string().transform(parseCreditPrice).optional().describe('What one credit costs, such as `0.002 EUR`; shown beside credits, which stay the unit of every limit. No default.'),
  MODEL_NAME: z.string().default('extractive').describe('model that is shown for runs that have not called one yet; default extractive.'),
  SEARCH_PROVIDER: z.string().optional().describe('search provider that is shown; default: searxng when SEARXNG_URL is set, else local.'),
  SEARXNG_URL: z.string().optional().describe('only used to tell which search provider is in use.'),
  DOCS_DIR: z.string().optional().describe('document folder whose name is shown; default: none.'),
});
export type GatewayConfig = z.infer<typeof gatewayConfig>;
