import { randomBytes } from 'node:crypto';
import path from 'node:path';
import mysql, { type Connection } from 'mysql2/promise';
import { createClient, type Client } from '#client';
import { startLocalServices, statusLocalServices } from '#platform';
import { spawnModelServer, treeCpuSeconds, type SpawnedModelServer } from '#testing';
import { startStack, type Stack } from '../../apps/cli/src/stack/index.ts';

/** Processes whose CPU a run is charged with, by name. */
export type ProcessGroups = Record<string, number[]>;

export interface Rig {
  client: Client;
  stack: Stack;
  model: SpawnedModelServer;
  database: Connection;
  /** The services, Redis and the database. */
  processes(): ProcessGroups;
  /** Everything of this bench but its own process. */
  allPids(): number[];
  stop(): Promise<void>;
}

export interface RigOptions {
  env?: Record<string, string>;
  workers?: number;
  supervisors?: number;
  /** Whether the model server keeps every request. Default false. */
  keepsRequests?: boolean;
}

/** A stack on private stores with durable defaults, a fresh database, and the scripted model in a process of its own. */
export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const directory = path.resolve('.local/bench');
  const cleanups: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const services = await startLocalServices({ directory, log: (line) => process.stderr.write(`${line}\n`) });
    cleanups.push(() => services.stop());
    const storePids = await pidsOfStores(directory);
    const databaseName = `bench_${randomBytes(4).toString('hex')}`;
    const url = new URL(services.databaseUrl);
    url.pathname = `/${databaseName}`;
    const model = await spawnModelServer({ script: 'bench', keepsRequests: options.keepsRequests ?? false });
    cleanups.push(() => model.stop());
    const env = { LOG_LEVEL: 'warn', ...model.environment, ...options.env };
    const stack = await startStack({ directory, databaseUrl: url.toString(), redisUrl: services.redisUrl, env, workers: options.workers, supervisors: options.supervisors });
    const database = await mysql.createConnection(url.toString());
    cleanups.push(async () => {
      await stack.stop();
      await database.query(`DROP DATABASE IF EXISTS \`${databaseName}\``);
      await database.end();
    });
    const processes = (): ProcessGroups => ({ ...stack.pids(), ...storePids });
    const allPids = (): number[] => [...Object.values(processes()).flat(), model.pid];
    return { client: createClient({ baseUrl: stack.url, apiKey: stack.apiKey }), stack, model, database, processes, allPids, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function pidsOfStores(directory: string): Promise<ProcessGroups> {
  const groups: ProcessGroups = {};
  for (const service of await statusLocalServices(directory)) if (service.pid !== undefined) groups[service.name] = [service.pid];
  return groups;
}

export type CpuByGroup = Record<string, number>;

export const cpuByGroup = (groups: ProcessGroups): CpuByGroup => Object.fromEntries(Object.entries(groups).map(([name, pids]) => [name, treeCpuSeconds(pids)]));

/** CPU seconds since `before`, per group. */
export const cpuSince = (before: CpuByGroup, groups: ProcessGroups): CpuByGroup =>
  Object.fromEntries(Object.entries(cpuByGroup(groups)).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)]));

export const total = (cpu: CpuByGroup): number => Object.values(cpu).reduce((sum, seconds) => sum + seconds, 0);
