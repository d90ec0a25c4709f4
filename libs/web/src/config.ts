import { z } from 'zod';
import { SEARCH_PROVIDERS, searchSettings } from './search/index.ts';

/** Settings of the web library; each key is the environment variable of that name. Search engines add their own. */
export const webConfig = z.object({
  ...searchSettings,
  SEARCH_PROVIDER: z
    .enum(SEARCH_PROVIDERS.map(({ id }) => id))
    .optional()
    .describe('Search engine: `local` (the document folder) or `searxng`. Default: searxng when SEARXNG_URL is set, else local.'),
  WEB_ENABLED: z.stringbool().optional().describe('Whether http and https pages may be read. Default: true unless the search engine is `local`.'),
  WEB_ALLOW_PRIVATE_HOSTS: z
    .string()
    .default('')
    .describe('Comma list of `host:port` or `host` that may be private or use another port than 80 and 443; exact names only. Default: none.'),
  WEB_PAGE_BYTES_MAX: z.coerce.number().int().positive().max(64 * 1024 * 1024).default(5 * 1024 * 1024).describe('Largest page, in decoded bytes. Default 5242880.'),
  WEB_FETCH_TIMEOUT_MS: z.coerce.number().int().positive().max(300_000).default(20_000).describe('Longest fetch of one page with all its redirects, in milliseconds. Default 20000.'),
  WEB_EXTRACT_TIMEOUT_MS: z.coerce.number().int().positive().max(120_000).default(5_000).describe('Longest extraction of one page, in milliseconds. Default 5000.'),
  WEB_USER_AGENT: z
    .string()
    .regex(/^[\x20-\x7e]{1,200}$/, 'must be up to 200 printable ASCII characters')
    .default('Quaestor/0.1 (research assistant)')
    .describe('User-Agent header of page requests. Default: Quaestor/0.1 (research assistant).'),
});
export type WebConfig = z.infer<typeof webConfig>;
