import 'reflect-metadata';
import { EXIT_CODES, QuaestorError, type ErrorCode } from '#contracts';
import { createLogger, loadConfig, Shutdown } from '#platform';
import { gatewayConfig } from './config.ts';
import { startGateway } from './gateway.ts';

const STOP_WITHIN_MS = 4_500;
const UNREACHABLE: readonly ErrorCode[] = ['DATABASE_UNREACHABLE', 'DATABASE_REPLACED', 'REDIS_UNREACHABLE'];

async function main(): Promise<void> {
  const config = loadConfig(gatewayConfig);
  const logger = createLogger({ service: 'gateway', level: config.LOG_LEVEL });
  const shutdown = new Shutdown({
    graceMs: Math.min(STOP_WITHIN_MS, config.DRAIN_GRACE_MS),
    onProblem: (step, error) => logger.warn({ err: error, step }, 'a step of stopping failed'),
  });
  shutdown.listenToSignals();
  const gateway = await startGateway(config, logger, leave);
  shutdown.onShutdown('gateway', () => gateway.stop());
  process.stdout.write(`${JSON.stringify({ ready: true, service: 'gateway', port: gateway.port })}\n`);
}

/** At once, without a drain: its answers would come from a database whose queues it does not know. */
function leave(error: QuaestorError): never {
  fail(error);
  process.exit();
}

/** One line for what the operator can mend, and everything for what only we can. */
function fail(error: unknown): void {
  if (!(error instanceof QuaestorError)) throw error;
  process.stderr.write(`${error.code}: ${error.message}\n`);
  process.exitCode = UNREACHABLE.includes(error.code) ? EXIT_CODES.unavailable : EXIT_CODES.usage;
}

await main().catch(fail);
