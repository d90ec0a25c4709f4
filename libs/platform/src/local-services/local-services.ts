import { access, constants, mkdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { QuaestorError } from '#contracts';
import type { Environment } from '../load-config.ts';
import { findDatabase, findRedis } from './binaries.ts';
import { DATABASE_NAME, DATABASE_USER, databasePlan } from './database-server.ts';
import { CONTAINER_DATABASE_USER, dockerAnswers, launchContainer, stopContainer } from './docker.ts';
import { canInstallPackages, DEBIAN_PACKAGES, installPackages } from './install-packages.ts';
import { withLockFile } from './lock-file.ts';
import { databaseAnswers, redisAnswers } from './probes.ts';
import { identifyProcess, isAlive, runsWith, terminate, waitFor } from './processes.ts';
import { redisPlan } from './redis-server.ts';
import { chooseRunAs } from './run-as.ts';
import { launch, type ServerPlan } from './server-plan.ts';
import { readState, SERVICE_NAMES, writeState, type RunningService, type ServiceName, type ServicesState } from './state-file.ts';

export interface LocalServicesOptions {
  /** Folder that holds data, logs and `services.json`; made when missing. */
  directory: string;
  /** Told in one line about slow steps. Default: nobody. */
  log?: (line: string) => void;
  /** `REDIS_URL` and `DATABASE_URL` win, each on its own; `PATH` is searched for programs. Default: the process's environment. */
  env?: Environment;
  /** Stay up when the last user leaves. Default false. */
  keep?: boolean;
}

export interface LocalServices {
  redisUrl: string;
  /** Names the database `quaestor`, which exists; the user may create others. */
  databaseUrl: string;
  /** True when this call had to start at least one server. */
  startedByUs: boolean;
  /** Leaves: stops the servers when no other living process uses them and nobody asked to keep them. Safe to repeat. */
  stop(): Promise<void>;
}

export interface ServiceStatus {
  name: ServiceName;
  running: boolean;
  via?: RunningService['via'];
  pid?: number;
  port?: number;
}

/** A running server this old that does not answer within this time is taken for hung and started again. */
const HUNG_AFTER_MS = 5_000;

/**
 * Makes sure that a private Redis and a private MariaDB (or MySQL) run, and says where. Running ones are used again; a dead or hung one is
 * started again on its data. Concurrent calls, also from other processes, take turns. Safe to repeat.
 * @throws QuaestorError `LOCAL_SERVICES_UNAVAILABLE` naming what to install, `CONFIG_INVALID` when the folder cannot be written.
 */
export async function startLocalServices({ directory, log = () => undefined, env = process.env, keep = false }: LocalServicesOptions): Promise<LocalServices> {
  const given = { redis: env['REDIS_URL'] || undefined, database: env['DATABASE_URL'] || undefined };
  if (given.redis && given.database) return { redisUrl: given.redis, databaseUrl: given.database, startedByUs: false, stop: async () => undefined };
  const home = await writableFolder(directory);
  return withState(home, async (state) => {
    const wanted = SERVICE_NAMES.filter((name) => !given[name]);
    const down = await notAnswering(home, state, wanted);
    if (down.length > 0) await startServices(home, state, down, { log, searchPath: env['PATH'] ?? '' });
    addUser(state);
    state.kept ||= keep;
    return {
      redisUrl: given.redis ?? redisUrl(state),
      databaseUrl: given.database ?? databaseUrl(state),
      startedByUs: down.length > 0,
      stop: () => leave(home),
    };
  });
}

/**
 * Starts again, on its data and its old port, what this machine recorded as running and what has died since; what was stopped on purpose
 * stays down. Safe to repeat. @returns the names of what was started.
 */
export async function reviveLocalServices({ directory, log = () => undefined, env = process.env }: LocalServicesOptions): Promise<ServiceName[]> {
  const wanted = SERVICE_NAMES.filter((name) => !env[name === 'redis' ? 'REDIS_URL' : 'DATABASE_URL']);
  if (!(await isFolder(directory))) return [];
  const home = await realpath(directory);
  if (diedOf(home, await readState(home), wanted).length === 0) return [];
  return withState(home, async (state) => {
    const died = diedOf(home, state, wanted);
    if (died.length > 0) await startServices(home, state, died, { log, searchPath: env['PATH'] ?? '' });
    return died;
  });
}

const diedOf = (home: string, state: ServicesState, names: readonly ServiceName[]): ServiceName[] =>
  names.filter((name) => state[name]?.via === 'process' && !isOurs(home, state[name]));

async function writableFolder(directory: string): Promise<string> {
  try {
    await mkdir(directory, { recursive: true });
    await access(directory, constants.W_OK);
    return await realpath(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new QuaestorError('CONFIG_INVALID', `The folder ${directory} cannot be written (${code}): set QUAESTOR_DIRECTORY to one that this user may write.`, { cause: error });
  }
}

/** Stops what runs below `directory`, whoever uses it, and says what that was. Safe to repeat. */
export async function stopLocalServices(directory: string): Promise<ServiceName[]> {
  if (!(await isFolder(directory))) return [];
  const home = await realpath(directory);
  return withState(home, (state) => stopServices(home, state));
}

/** As `stopLocalServices`, but only when no living process uses the servers and nobody asked to keep them. */
export async function stopUnusedLocalServices(directory: string): Promise<void> {
  if (await isFolder(directory)) await leave(await realpath(directory));
}

export async function statusLocalServices(directory: string): Promise<ServiceStatus[]> {
  if (!(await isFolder(directory))) return SERVICE_NAMES.map((name) => ({ name, running: false }));
  const home = await realpath(directory);
  const state = await readState(home);
  return Promise.all(
    SERVICE_NAMES.map(async (name) => {
      const service = state[name];
      if (!service || !(await serviceAnswers(home, state, name))) return { name, running: false };
      return { name, running: true, via: service.via, port: service.port, ...(service.via === 'process' ? { pid: service.process.pid } : {}) };
    }),
  );
}

const isFolder = (directory: string): Promise<boolean> => stat(directory).then((info) => info.isDirectory(), () => false);

/** Reads the state, lets `change` change it, and writes it back even when that failed, all under the lock. */
function withState<Value>(home: string, change: (state: ServicesState) => Promise<Value>): Promise<Value> {
  return withLockFile(path.join(home, 'services.lock'), async () => {
    const state = await readState(home);
    try {
      return await change(state);
    } finally {
      await writeState(home, state);
    }
  });
}

function addUser(state: ServicesState): void {
  const us = identifyProcess(process.pid);
  state.users = state.users.filter((user) => isAlive(user) && user.pid !== process.pid);
  if (us) state.users.push(us);
}

function leave(home: string): Promise<void> {
  return withState(home, async (state) => {
    state.users = state.users.filter((user) => isAlive(user) && user.pid !== process.pid);
    if (state.users.length === 0 && !state.kept) await stopServices(home, state);
  });
}

async function stopServices(home: string, state: ServicesState): Promise<ServiceName[]> {
  const running = SERVICE_NAMES.filter((name) => state[name]);
  await Promise.all(running.map((name) => stopService(home, state, name)));
  state.kept = false;
  return running;
}

async function stopService(home: string, state: ServicesState, name: ServiceName): Promise<void> {
  const service = state[name];
  if (service?.via === 'process') await terminate(service.process, home);
  if (service?.via === 'container') await stopContainer(service.container);
  state[name] = null;
}

async function notAnswering(home: string, state: ServicesState, names: readonly ServiceName[]): Promise<ServiceName[]> {
  const checked = await Promise.all(names.map(async (name) => ((await isUsable(home, state, name)) ? undefined : name)));
  return checked.filter((name) => name !== undefined);
}

async function isUsable(home: string, state: ServicesState, name: ServiceName): Promise<boolean> {
  const service = state[name];
  if (!service) return false;
  if (service.via === 'process' && !isOurs(home, service)) return false;
  return waitFor(() => serviceAnswers(home, state, name), HUNG_AFTER_MS);
}

const isOurs = (home: string, service: Extract<RunningService, { via: 'process' }>): boolean => isAlive(service.process) && runsWith(service.process.pid, home);

async function serviceAnswers(home: string, state: ServicesState, name: ServiceName): Promise<boolean> {
  const service = state[name];
  if (!service || (service.via === 'process' && !isOurs(home, service))) return false;
  return name === 'redis' ? redisAnswers(service.port, state.passwords.redis) : databaseAnswers(service.port, databaseUser(service), state.passwords.database);
}

const databaseUser = (service: RunningService): string => (service.via === 'container' ? CONTAINER_DATABASE_USER : DATABASE_USER);

function redisUrl(state: ServicesState): string {
  return `redis://:${state.passwords.redis}@127.0.0.1:${state.redis?.port}/0`;
}

function databaseUrl(state: ServicesState): string {
  const user = state.database ? databaseUser(state.database) : DATABASE_USER;
  return `mysql://${user}:${state.passwords.database}@127.0.0.1:${state.database?.port}/${DATABASE_NAME}`;
}

interface StartContext {
  log: (line: string) => void;
  searchPath: string;
}

async function startServices(home: string, state: ServicesState, names: readonly ServiceName[], context: StartContext): Promise<void> {
  await Promise.all(names.map((name) => stopService(home, state, name)));
  const missing = names.filter((name) => !planFor(name, home, state, context.searchPath));
  const containers = missing.length > 0 ? await provide(missing, home, state, context) : [];
  const runAs = await chooseRunAs(home);
  const starts = names.map(async (name) => {
    const plan = planFor(name, home, state, context.searchPath);
    const service = plan && !containers.includes(name) ? await launch(plan, state.ports[name], runAs) : await launchContainer(home, name, state.passwords[name]);
    state[name] = service;
    state.ports[name] = service.port;
  });
  // All of them are awaited, so that one failure never leaves another server running unrecorded.
  const failed = (await Promise.allSettled(starts)).find((start) => start.status === 'rejected');
  if (failed) throw failed.reason;
}

function planFor(name: ServiceName, home: string, state: ServicesState, searchPath: string): ServerPlan | undefined {
  if (name === 'redis') {
    const binary = findRedis(searchPath);
    return binary ? redisPlan(binary, home, state.passwords.redis) : undefined;
  }
  const binaries = findDatabase(searchPath);
  return binaries ? databasePlan(binaries, home, state.passwords.database) : undefined;
}

/** Gets missing programs from the package manager; what stays missing runs in Docker. Returns those. */
async function provide(missing: readonly ServiceName[], home: string, state: ServicesState, { log, searchPath }: StartContext): Promise<ServiceName[]> {
  const packages = missing.flatMap((name) => DEBIAN_PACKAGES[name]);
  if (canInstallPackages()) await installPackages(packages, log);
  const stillMissing = missing.filter((name) => !planFor(name, home, state, searchPath));
  if (stillMissing.length === 0) return [];
  if (await dockerAnswers()) {
    log(`starting ${stillMissing.join(' and ')} in Docker ...`);
    return stillMissing;
  }
  throw new QuaestorError('LOCAL_SERVICES_UNAVAILABLE', howToInstall(stillMissing));
}

function howToInstall(missing: readonly ServiceName[]): string {
  const titles = { redis: 'Redis 6.2 or newer (redis-server)', database: 'MariaDB 10.11 or MySQL 8.4 or newer (mariadbd or mysqld)' };
  const variables = { redis: 'REDIS_URL', database: 'DATABASE_URL' };
  const brew = { redis: 'redis', database: 'mariadb' };
  return (
    `Not found: ${missing.map((name) => titles[name]).join(' and ')}. ` +
    `Debian and Ubuntu: apt-get install --no-install-recommends ${missing.flatMap((name) => DEBIAN_PACKAGES[name]).join(' ')}; ` +
    `macOS: brew install ${missing.map((name) => brew[name]).join(' ')}; or start Docker; or set ${missing.map((name) => variables[name]).join(' and ')}.`
  );
}
