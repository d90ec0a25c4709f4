import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { DRAIN_GRACE_MS, QuaestorError } from '#contracts';
import { environment, freePort } from '#platform';
import { BUILD_ROOT, COMPILE_CACHE } from '../project-root.ts';
import { keyFiles, readOrMakeKey } from './keys.ts';
import { ServiceProcess, type ServiceName } from './service-process.ts';

export interface StackOptions {
  /** Folder for logs and key files; made when missing. */
  directory: string;
  /** Created when missing and migrated before anything starts. */
  databaseUrl: string;
  redisUrl: string;
  /** Variables for the services on top of this process's own, such as `DOCS_DIR` or `MODEL_BASE_URL`. `GATEWAY_PORT` unset: a free port. */
  env?: Record<string, string | undefined>;
  /** Worker processes. Default 1. */
  workers?: number;
  /** Supervisor processes. Default 1. */
  supervisors?: number;
  /** Services to run at all. Default: all four. With `gateway` alone, runs can be looked at and do not move. */
  services?: readonly ServiceName[];
  /** Give supervisor, worker and scratchpad a health port each. Default false. */
  healthPorts?: boolean;
  /** Folder with the compiled services. Default: `dist` of the project. */
  buildRoot?: string;
  /** Told in one line about crashes and restarts. Default: nobody. */
  onLog?: (line: string) => void;
}

export interface Stack {
  /** Address of the gateway. */
  url: string;
  apiKey: string;
  adminKey: string;
  apiKeyFile: string;
  adminKeyFile: string;
  logDirectory: string;
  /** Address of `/metrics` by process title; only what has one. */
  metricsUrls: Record<string, string>;
  /** Pids that run now, by service. */
  pids(): Record<ServiceName, number[]>;
  /** Stops everything in reverse order, each drained. Safe to repeat. */
  stop(): Promise<void>;
}

/** Start order; stopping goes backwards. A draining worker still needs the scratchpad, and nothing needs the gateway. */
const START_ORDER: readonly ServiceName[] = ['scratchpad', 'supervisor', 'worker', 'gateway'];
/** On top of a service's own grace time, for closing connections. */
const STOP_MARGIN_MS = 5_000;
const LOG_BYTES_MAX = 10 * 1024 * 1024;
const GATEWAY_START_TRIES = 3;

/**
 * Migrates the database, starts the services of one stack as child processes and waits until all are ready. A child that crashes is started again with backoff.
 * They end with this process, however it ends.
 * @throws QuaestorError `CONFIG_INVALID` or `SERVICE_UNAVAILABLE` in the words of the service that failed; nothing stays running then.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { directory, env = {}, services = START_ORDER } = options;
  const logDirectory = path.join(directory, 'logs');
  mkdirSync(logDirectory, { recursive: true });
  await migrate(options.databaseUrl);
  const files = keyFiles(directory);
  const apiKey = readOrMakeKey(files.apiKey, 'qk_');
  const adminKey = readOrMakeKey(files.adminKey, 'qa_');
  const host = env['GATEWAY_HOST'] || environment()['GATEWAY_HOST'] || '127.0.0.1';
  const fixedPort = Number(env['GATEWAY_PORT'] ?? 0);
  const shared = { NODE_COMPILE_CACHE: COMPILE_CACHE, ...environment(), ...env, DATABASE_URL: options.databaseUrl, REDIS_URL: options.redisUrl, GATEWAY_HOST: host, ADMIN_KEY: adminKey, BOOTSTRAP_API_KEY: apiKey };
  const metricsUrls: Record<string, string> = {};
  const processes: ServiceProcess[] = [];
  let gatewayPort = fixedPort;

  const create = async (service: ServiceName, title: string, port: number): Promise<ServiceProcess> => {
    const healthPort = service !== 'gateway' && options.healthPorts ? await freePort() : 0;
    if (healthPort) metricsUrls[title] = `http://127.0.0.1:${healthPort}/metrics`;
    const child = new ServiceProcess({
      service,
      title,
      entryFile: entryFileOf(options.buildRoot ?? BUILD_ROOT, service),
      env: { ...shared, GATEWAY_PORT: String(port), HEALTH_PORT: String(healthPort) },
      logFile: prepareLog(logDirectory, title),
      onLog: options.onLog ?? (() => undefined),
    });
    processes.push(child);
    return child;
  };
  const startGateway = async (): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      gatewayPort = fixedPort || (await freePort());
      const gateway = await create('gateway', 'gateway', gatewayPort);
      try {
        await gateway.start();
        return;
      } catch (error) {
        processes.splice(processes.indexOf(gateway), 1);
        // Somebody took the free port between our look and the gateway's bind.
        if (fixedPort || attempt === GATEWAY_START_TRIES || !isPortProblem(error)) throw error;
      }
    }
  };
  const killAll = (): void => processes.forEach((child) => child.kill());
  process.once('exit', killAll);
  const stop = async (): Promise<void> => {
    await stopInOrder(processes, env);
    process.removeListener('exit', killAll);
  };

  const starts = services.flatMap((service) =>
    service === 'gateway' ? [startGateway()] : titlesOf(service, options).map(async (title) => void (await (await create(service, title, 0)).start())),
  );
  const failed = (await Promise.allSettled(starts)).find((start) => start.status === 'rejected');
  if (failed) {
    await stop();
    throw failed.reason;
  }
  return {
    url: `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${gatewayPort}`,
    apiKey,
    adminKey,
    apiKeyFile: files.apiKey,
    adminKeyFile: files.adminKey,
    logDirectory,
    metricsUrls,
    pids: () => pidsOf(processes),
    stop,
  };
}

/** Loaded late: an ORM is much to load for a command that needs no database. */
async function migrate(databaseUrl: string): Promise<void> {
  const { migrateDatabase } = await import('#database');
  await migrateDatabase(databaseUrl);
}

function titlesOf(service: ServiceName, { workers = 1, supervisors = 1 }: StackOptions): string[] {
  const count = service === 'worker' ? workers : service === 'supervisor' ? supervisors : 1;
  return Array.from({ length: count }, (_, index) => (count === 1 ? service : `${service}-${index + 1}`));
}

function entryFileOf(buildRoot: string, service: ServiceName): string {
  const file = path.join(buildRoot, 'apps', service, 'src', 'main.js');
  if (!existsSync(file)) throw new QuaestorError('SERVICE_UNAVAILABLE', `${file} does not exist: run "npm run build" first.`);
  return file;
}

/** Logs are appended; one that has grown large is put aside, so that at most two files of a service exist. */
function prepareLog(logDirectory: string, title: string): string {
  const file = path.join(logDirectory, `${title}.log`);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) renameSync(file, `${file}.1`);
  return file;
}

const isPortProblem = (error: unknown): boolean => error instanceof QuaestorError && /port|EADDRINUSE/i.test(error.message);

async function stopInOrder(processes: readonly ServiceProcess[], env: Record<string, string | undefined>): Promise<void> {
  const graceMs = Number(env['DRAIN_GRACE_MS'] || environment()['DRAIN_GRACE_MS'] || DRAIN_GRACE_MS) + STOP_MARGIN_MS;
  for (const service of START_ORDER.toReversed()) {
    await Promise.all(processes.filter((child) => child.service === service).map((child) => child.stop(graceMs)));
  }
}

function pidsOf(processes: readonly ServiceProcess[]): Record<ServiceName, number[]> {
  const of = (service: ServiceName): number[] => processes.filter((child) => child.service === service).map((child) => child.pid).filter((pid) => pid !== undefined);
  return { gateway: of('gateway'), supervisor: of('supervisor'), worker: of('worker'), scratchpad: of('scratchpad') };
}
