import { once } from 'node:events';
import { QuaestorError } from '#contracts';
import { identifyProcess, keepLocalServices, portIsFree } from '#platform';
import type { CliConfig } from '../config.ts';
import type { CommandContext } from '../context.ts';
import { withDatabase } from '../docs-folder.ts';
import { readStackRecord, removeStackRecord, writeStackRecord } from '../records.ts';
import { chooseWorkspace, workspaceEnvironment, type Workspace } from '../session.ts';
import { startStack, type Stack } from '../stack/index.ts';

export interface StartOptions {
  docs?: string;
  port?: number;
  workersProcesses: number;
}

/** Runs the whole stack in the foreground until it is interrupted. */
export async function start(context: CommandContext, options: StartOptions): Promise<number> {
  const { config, terminal, interrupt, log } = context;
  const workspace = await chooseWorkspace(config, options.docs);
  const port = options.port ?? config.GATEWAY_PORT;
  await refuseSecondStack(config, port);
  log('Starting local services and the stack ...');
  const loading = import('#database');
  const local = await keepLocalServices({ directory: config.QUAESTOR_DIRECTORY, log });
  try {
    await loading;
    const stack = await startStack({
      directory: config.QUAESTOR_DIRECTORY,
      databaseUrl: databaseUrlFor(config, workspace, local.databaseUrl),
      redisUrl: local.redisUrl,
      env: { ...workspaceEnvironment(workspace), GATEWAY_PORT: String(port), GATEWAY_HOST: config.GATEWAY_HOST },
      workers: options.workersProcesses,
      healthPorts: true,
      onLog: (line) => terminal.note(terminal.colors.yellow(line)),
    });
    try {
      await announce(context, stack, workspace);
      if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort');
      log('Stopping (Ctrl-C again stops at once) ...');
    } finally {
      removeStackRecord(config.QUAESTOR_DIRECTORY);
      await stack.stop();
    }
  } finally {
    await local.stop();
  }
  // Stopping is what an interrupted stack is asked to do: a clean stop is a success.
  return 0;
}

async function refuseSecondStack(config: CliConfig, port: number): Promise<void> {
  const running = readStackRecord(config.QUAESTOR_DIRECTORY);
  if (running) throw new QuaestorError('PORT_IN_USE', `A stack runs here already at ${running.url} (pid ${running.owner.pid}): stop it first, or set QUAESTOR_DIRECTORY to another folder.`);
  if (!(await portIsFree(port, config.GATEWAY_HOST))) throw new QuaestorError('PORT_IN_USE', `Port ${port} on ${config.GATEWAY_HOST} is in use: choose another with --port or GATEWAY_PORT.`);
}

/** A database that was named is used as it is; a private server keeps one database per document folder. */
const databaseUrlFor = (config: CliConfig, workspace: Workspace, localUrl: string): string =>
  config.DATABASE_URL ?? (workspace.database ? withDatabase(localUrl, workspace.database) : localUrl);

async function announce({ config, terminal }: CommandContext, stack: Stack, workspace: Workspace): Promise<void> {
  const owner = identifyProcess(process.pid);
  if (owner) writeStackRecord(config.QUAESTOR_DIRECTORY, { url: stack.url, owner, docs_folder: workspace.docsFolder, database: workspace.database ?? 'quaestor' });
  const rows: [string, string][] = [
    ['API', `${stack.url}/v1`],
    ['API documents', `${stack.url}/docs`],
    ['Queues', `${stack.url}/admin/queues (user "admin", password in ${stack.adminKeyFile})`],
    ['Metrics', [`${stack.url}/metrics`, ...Object.values(stack.metricsUrls)].join(' ')],
    ['API key', stack.apiKeyFile],
    ['Documents', workspace.docsFolder ?? 'none: the web is searched'],
    ['Logs', stack.logDirectory],
  ];
  for (const [name, value] of rows) await terminal.print(`${name.padEnd(13)} ${value}`);
  terminal.note(`Ready. Ask in another terminal: npm run research -- "your question"`);
}
