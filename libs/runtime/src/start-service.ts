import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import { ERROR_CODES, EXIT_CODES, QuaestorError } from '#contracts';
import { nestLogger, Shutdown, startHealthServer } from '#platform';
import type { RuntimeConfig } from './config.ts';
import { Runtime } from './runtime.ts';

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
    process.stderr.write(`${definition.name}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(exitCodeOf(error));
  }
}

async function boot<Config extends RuntimeConfig>(definition: ServiceDefinition<Config>): Promise<void> {
  const config = definition.loadConfig();
  const runtime = await Runtime.open(definition.name, config);
  const app = await createContext(definition, runtime, config);
  const health = await startHealthServer({
    port: config.HEALTH_PORT,
    host: config.HEALTH_HOST,
    checks: { database: () => runtime.sql.rows('SELECT 1'), redis: () => runtime.pingRedis() },
  });
  const shutdown = new Shutdown({ graceMs: config.DRAIN_GRACE_MS + 5_000, onProblem: (step, error) => runtime.report(`shutdown: ${step}`, error) });
  shutdown.onShutdown('stores', () => runtime.close());
  shutdown.onShutdown('health', () => health.close());
  shutdown.onShutdown('service', () => app.close());
  shutdown.onShutdown('readiness', () => health.drain());
  shutdown.listenToSignals();
  process.stdout.write(`${JSON.stringify({ ready: true, service: definition.name, port: health.port, ...(runtime.notices.length > 0 ? { notices: runtime.notices } : {}) })}\n`);
}

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
