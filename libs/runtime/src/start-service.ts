import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import { ERROR_CODES, EXIT_CODES, QuaestorError } from '#contracts';
import { watchIncarnation } from '#database';
import { nestLogger, Shutdown, startHealthServer, type HealthServer, type HealthServerOptions } from '#platform';
import type { RuntimeConfig } from './config.ts';
import { Runtime } from './runtime.ts';

/** For the connections, after the work was handed over. */
const CLOSING_MS = 5_000;

export interface ServiceDefinition<Config extends RuntimeConfig> {
  name: string;
  loadConfig(): Config;
  /** The service's own module; `Runtime` and the configuration are handed to it. */
  module(runtime: Runtime, config: Config): Promise<DynamicModule> | DynamicModule;
}

/**
 * Boots a queue service: configuration, stores, Nest application context, health port, ready line. What is wrong with its surroundings
 * is one sentence on stderr and an exit code (2 configuration, 7 unreachable), never a stack trace.
 */
export async function startService<Config extends RuntimeConfig>(definition: ServiceDefinition<Config>): Promise<void> {
  try {
    await boot(definition);
  } catch (error) {
    leave(definition.name, error);
  }
}

function leave(service: string, error: unknown): never {
  process.stderr.write(`${service}: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(exitCodeOf(error));
}

async function boot<Config extends RuntimeConfig>(definition: ServiceDefinition<Config>): Promise<void> {
  const config = definition.loadConfig();
  const open: { runtime?: Runtime; health?: HealthServer } = {};
  const shutdown = new Shutdown({ graceMs: config.DRAIN_GRACE_MS + CLOSING_MS, onProblem: (step, error) => open.runtime?.report(`shutdown: ${step}`, error) });
  // from the first moment: a process that is told to stop while it starts must not die with work that it has just taken
  shutdown.listenToSignals();
  const runtime = await Runtime.open(definition.name, config);
  open.runtime = runtime;
  shutdown.onShutdown('stores', () => runtime.close());
  // at once, without a drain: what is in hand belongs to a database that is no more
  shutdown.onShutdown('watch', watchIncarnation({ sql: runtime.leaseSql, incarnation: runtime.incarnation, onReplaced: (error) => leave(definition.name, error) }));
  shutdown.onShutdown('health', () => open.health?.close());
  const opening = createContext(definition, runtime, config);
  shutdown.onShutdown('service', async () => (await opening).close());
  shutdown.onShutdown('readiness', () => open.health?.drain());
  await opening;
  if (shutdown.isStopping) return;
  const health = await startHealthServer(healthOptions(runtime));
  open.health = health;
  process.stdout.write(`${JSON.stringify({ ready: true, service: definition.name, port: health.port, ...(runtime.notices.length > 0 ? { notices: runtime.notices } : {}) })}\n`);
}

const healthOptions = (runtime: Runtime): HealthServerOptions => ({
  port: runtime.config.HEALTH_PORT,
  host: runtime.config.HEALTH_HOST,
  checks: { database: () => runtime.sql.rows('SELECT 1'), redis: () => runtime.pingRedis() },
});

async function createContext<Config extends RuntimeConfig>(definition: ServiceDefinition<Config>, runtime: Runtime, config: Config): Promise<INestApplicationContext> {
  try {
    return await NestFactory.createApplicationContext(await definition.module(runtime, config), { logger: nestLogger(runtime.logger), abortOnError: false });
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

function exitCodeOf(error: unknown): number {
  if (!(error instanceof QuaestorError)) return 1;
  return ERROR_CODES[error.code].httpStatus === 503 ? EXIT_CODES.unavailable : EXIT_CODES.usage;
}
