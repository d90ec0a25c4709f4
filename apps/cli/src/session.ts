import path from 'node:path';
import { QuaestorError } from '#contracts';
import { createClient, type Client } from '#client';
import { environment, keepLocalServices, type LocalServices } from '#platform';
import { readFileSync } from 'node:fs';
import { hasSearchEngine, type CliConfig } from './config.ts';
import { checkDocsFolder, databaseNameOf, withDatabase } from './docs-folder.ts';
import { PROJECT_ROOT } from './project-root.ts';
import { readStackRecord } from './records.ts';
import { keyFiles, startStack, type ServiceName, type Stack } from './stack/index.ts';

export interface GatewayOptions {
  url?: string;
  key?: string;
  docs?: string;
}

/** A gateway to talk to: somebody else's, or one of our own that ends with the command. */
export interface Session {
  client: Client;
  url: string;
  /** Set when this command runs the stack itself. */
  own?: { database: string; workspace: Workspace; stack: Stack };
  /** Stops what this command started; nothing when that is nothing. Safe to repeat. */
  close(): Promise<void>;
}

/** A document folder and the database that belongs to it. */
export interface Workspace {
  docsFolder: string | null;
  /** The folder is searched although a search engine may be set. */
  insteadOfWeb: boolean;
  /** Null: the database that `DATABASE_URL` or the private server names. */
  database: string | null;
}

/**
 * The folder a command works on: `--docs`, else `DOCS_DIR`, else the project's own documents unless a search engine is set.
 * @throws QuaestorError `DOCS_FOLDER_INVALID`
 */
export async function chooseWorkspace(config: CliConfig, docs: string | undefined): Promise<Workspace> {
  const asked = docs ?? config.DOCS_DIR ?? (hasSearchEngine(config) ? undefined : path.join(PROJECT_ROOT, 'docs'));
  if (asked === undefined) return { docsFolder: null, insteadOfWeb: false, database: null };
  const docsFolder = await checkDocsFolder(asked);
  return { docsFolder, insteadOfWeb: docs !== undefined, database: databaseNameOf(docsFolder, environment()) };
}

/** What the services have to know of a workspace. */
export const workspaceEnvironment = ({ docsFolder, insteadOfWeb }: Workspace): Record<string, string | undefined> => ({
  DOCS_DIR: docsFolder ?? undefined,
  ...(insteadOfWeb ? { SEARCH_PROVIDER: 'local' } : {}),
});

/** The gateway that the options or the environment name, or the one that `quaestor start` runs on the same folder; undefined when there is none. */
export async function findRunningGateway(config: CliConfig, options: GatewayOptions): Promise<Session | undefined> {
  if (options.url && options.docs) throw new QuaestorError('INVALID_REQUEST', 'A running gateway has its own documents: give either --url or --docs.');
  const url = options.url ?? (options.docs ? undefined : config.QUAESTOR_URL);
  if (url) {
    const apiKey = options.key ?? config.QUAESTOR_API_KEY;
    if (!apiKey) throw new QuaestorError('CONFIG_INVALID', `An API key is needed for ${url}: give --key or set QUAESTOR_API_KEY.`);
    return sessionAt(url, apiKey);
  }
  const record = readStackRecord(config.QUAESTOR_DIRECTORY);
  if (!record) return undefined;
  if (options.docs !== undefined && record.docs_folder !== (await checkDocsFolder(options.docs))) return undefined;
  const session = sessionAt(record.url, readFileSync(keyFiles(config.QUAESTOR_DIRECTORY).apiKey, 'utf8').trim());
  const answers = await session.client.listRuns({ limit: 1 }).then(() => true, () => false);
  return answers ? session : undefined;
}

const sessionAt = (url: string, apiKey: string): Session => ({ url, client: createClient({ baseUrl: url, apiKey }), close: async () => undefined });

export interface OwnStackOptions {
  workspace: Workspace;
  /** Told in one line about slow steps, crashes and restarts. */
  log: (line: string) => void;
  services?: readonly ServiceName[];
}

/**
 * Starts local services and a private stack for this command alone.
 * @throws QuaestorError as `startLocalServices` and `startStack`; nothing stays running then.
 */
export async function startOwnStack(config: CliConfig, { workspace, log, services }: OwnStackOptions): Promise<Session> {
  // Loading the database library takes as long as starting the server: do both at once.
  const loading = import('#database');
  const local = await keepLocalServices({ directory: config.QUAESTOR_DIRECTORY, log });
  try {
    await loading;
    const databaseUrl = workspace.database ? withDatabase(local.databaseUrl, workspace.database) : local.databaseUrl;
    const stack = await startStack({
      directory: config.QUAESTOR_DIRECTORY,
      databaseUrl,
      redisUrl: local.redisUrl,
      env: { ...workspaceEnvironment(workspace), GATEWAY_HOST: '127.0.0.1', DRAIN_GRACE_MS: String(config.DRAIN_GRACE_MS) },
      onLog: log,
      ...(services ? { services } : {}),
    });
    return ownSession(stack, local, { database: new URL(databaseUrl).pathname.slice(1), workspace });
  } catch (error) {
    await local.stop();
    throw error;
  }
}

function ownSession(stack: Stack, local: LocalServices, place: { database: string; workspace: Workspace }): Session {
  const close = async (): Promise<void> => {
    await stack.stop();
    await local.stop();
  };
  return { url: stack.url, client: createClient({ baseUrl: stack.url, apiKey: stack.apiKey }), own: { ...place, stack }, close };
}
