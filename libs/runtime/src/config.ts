import { z } from 'zod';
import { HEARTBEAT_INTERVAL_MS, LEASE_TTL_MS, PAGE_CHARS_DEFAULT, ReadTier, SWEEP_INTERVAL_MS } from '#contracts';
import { platformConfig } from '#platform';

const milliseconds = (fallback: number, min: number) => z.coerce.number().int().min(min).max(600_000).default(fallback);

/** Settings of every process that works on runs. */
export const runtimeConfig = platformConfig.extend({
  DATABASE_URL: z.url({ protocol: /^mysql$/ }).describe('mysql://user:password@host:port/database; MySQL 8.4 or newer, or MariaDB 10.11 or newer.'),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }).describe('redis://[:password@]host:port; its maxmemory-policy must be noeviction.'),
  DATABASE_CONNECTIONS: z.coerce.number().int().min(2).max(500).default(16).describe('Database connections of this process. Default 16.'),
  LEASE_TTL_MS: milliseconds(LEASE_TTL_MS, 500).describe(`How long a run is held without a heartbeat, by the database's clock. Default ${LEASE_TTL_MS}.`),
  HEARTBEAT_INTERVAL_MS: milliseconds(HEARTBEAT_INTERVAL_MS, 100).describe(`Time between heartbeats, milliseconds; below a third of the lease. Default ${HEARTBEAT_INTERVAL_MS}.`),
  EVENT_LOOP_BLOCKED_MAX_MS: milliseconds(10_000, 1_000).describe('An event loop that has not turned for this long is taken for stuck and its runs pass to other processes, milliseconds. Default 10000.'),
  SWEEP_INTERVAL_MS: milliseconds(SWEEP_INTERVAL_MS, 100).describe(`Time between sweeps for work without a job, milliseconds. Default ${SWEEP_INTERVAL_MS}.`),
  RESEND_AFTER_MS: milliseconds(10_000, 500).describe('A job that nobody took for this long is sent again, milliseconds. Default 10000.'),
  CONCURRENCY: z.coerce.number().int().min(1).max(10_000).optional().describe('Jobs this process works on at once. Default: the queue catalogue.'),
  PAGE_CHARS: z.coerce.number().int().min(1_000).max(100_000).default(PAGE_CHARS_DEFAULT).describe(`Characters of one page as a model reads it. Default ${PAGE_CHARS_DEFAULT}.`),
  READ_TIER: z.coerce.number().pipe(ReadTier).default(0).describe('How pages are fetched, which decides the price of a read: 0 directly (2 credits), 1 to 3 through a proxy (4, 7, 12). Default 0.'),
  PROMPT_PAGE_CHARS_MAX: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000_000)
    .optional()
    .describe('Characters of whole pages a prompt may hold; above it all but the newest are folded into passages, which can be opened again for nothing. 0: no bound of their own. Default: by the price of the model, 64000 where the price of cached input is not known.'),
  PROMPT_TOKENS_MAX: z.coerce.number().int().min(1_000).max(10_000_000).default(100_000).describe('Tokens a prompt may take, estimated and corrected by what the provider counted before; above it pages are folded, then older groups left out. Default 100000.'),
  PROMPT_SUMMARIES: z.stringbool().default(false).describe('Whether groups that are left out of a prompt are summarised by a model call first, which is charged; when it fails they are just left out. Default false.'),
});
export type RuntimeConfig = z.infer<typeof runtimeConfig>;
