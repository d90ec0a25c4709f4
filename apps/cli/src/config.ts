import path from 'node:path';
import { loadConfig } from '#platform';
import { z } from 'zod';
import { PROJECT_ROOT } from './project-root.ts';

const GATEWAY_PORT_DEFAULT = 4100;
/** Shorter than that of a service that stands alone: somebody is waiting at the keyboard. */
const OWN_STACK_DRAIN_GRACE_MS = 4_000;

/** What the command line itself reads. Everything else in the environment goes to the services, which check it. */
export const cliConfig = z.object({
  QUAESTOR_URL: z.url({ protocol: /^https?$/ }).optional().describe('address of a running gateway, such as http://127.0.0.1:4100; default: the one that "quaestor start" runs here.'),
  QUAESTOR_API_KEY: z.string().optional().describe('API key for QUAESTOR_URL.'),
  QUAESTOR_DIRECTORY: z.string().default(path.join(PROJECT_ROOT, '.local')).describe('folder for local data, logs and keys; default .local in the project.'),
  GATEWAY_HOST: z.string().default('127.0.0.1').describe('address the gateway listens on; default 127.0.0.1.'),
  GATEWAY_PORT: z.coerce.number().int().min(1).max(65_535).default(GATEWAY_PORT_DEFAULT).describe(`port of the gateway that "quaestor start" runs, 1 to 65535; default ${GATEWAY_PORT_DEFAULT}.`),
  DOCS_DIR: z.string().optional().describe('folder of documents to research; default: the docs of the project, unless a search engine is set.'),
  SEARCH_PROVIDER: z.string().optional().describe('search engine of the services.'),
  SEARXNG_URL: z.string().optional().describe('address of a SearXNG instance.'),
  DATABASE_URL: z.url({ protocol: /^mysql$/ }).optional().describe('mysql://user:password@host:port/name; default: a private server.'),
  DRAIN_GRACE_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(600_000)
    .default(OWN_STACK_DRAIN_GRACE_MS)
    .describe(`milliseconds that running model calls get to end when a command stops its own stack, 0 to 600000; default ${OWN_STACK_DRAIN_GRACE_MS}.`),
  NO_COLOR: z.string().optional().describe('set to anything: no colours.'),
});
export type CliConfig = z.infer<typeof cliConfig>;

/** @throws QuaestorError `CONFIG_INVALID` */
export const readCliConfig = (): CliConfig => loadConfig(cliConfig);

/** Whether the services have a search engine of the real world, so that no folder has to stand in for the web. */
export const hasSearchEngine = (config: CliConfig): boolean => Boolean(config.SEARXNG_URL) || (config.SEARCH_PROVIDER !== undefined && config.SEARCH_PROVIDER !== 'local');
