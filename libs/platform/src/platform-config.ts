import { DRAIN_GRACE_MS } from '#contracts';
import { z } from 'zod';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Settings every process has, whatever it does. Merge with `.extend(platformConfig.shape)`. */
export const platformConfig = z.object({
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info').describe(`least severe log line that is written: ${LOG_LEVELS.join(', ')}; default info.`),
  HEALTH_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe('port of /healthz, /readyz and /metrics for a process without an API of its own, 0 to 65535; default 0 = off.'),
  HEALTH_HOST: z.string().default('127.0.0.1').describe('address the health port listens on; default 127.0.0.1.'),
  DRAIN_GRACE_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(600_000)
    .default(DRAIN_GRACE_MS)
    .describe(`milliseconds a stopping process gets to hand its work over, 0 to 600000; default ${DRAIN_GRACE_MS}.`),
});
export type PlatformConfig = z.infer<typeof platformConfig>;
