import { EXIT_CODES } from '#contracts';
import { startLocalServices, statusLocalServices, stopLocalServices, stopUnusedLocalServices } from '#platform';
import type { CommandContext } from '../context.ts';

/** Starts the private Redis and database and leaves them running. */
export async function startServices({ config, terminal, log }: CommandContext): Promise<number> {
  const services = await startLocalServices({ directory: config.QUAESTOR_DIRECTORY, log, keep: true });
  terminal.note(services.startedByUs ? 'Local services are running; stop them with "quaestor services stop".' : 'Local services were running already.');
  await terminal.print(`REDIS_URL=${services.redisUrl}\nDATABASE_URL=${services.databaseUrl}`);
  return 0;
}

export async function stopServices({ config, terminal }: CommandContext, options: { unused?: boolean }): Promise<number> {
  if (options.unused) {
    await stopUnusedLocalServices(config.QUAESTOR_DIRECTORY);
    return 0;
  }
  const stopped = await stopLocalServices(config.QUAESTOR_DIRECTORY);
  terminal.note(stopped.length > 0 ? `Stopped: ${stopped.join(', ')}.` : 'Nothing was running.');
  return 0;
}

/** Exit code 0 when both run, 7 when not. */
export async function showServices({ config, terminal }: CommandContext): Promise<number> {
  const services = await statusLocalServices(config.QUAESTOR_DIRECTORY);
  for (const service of services) {
    const where = service.running ? `running on 127.0.0.1:${service.port}${service.pid ? `, pid ${service.pid}` : ' in a container'}` : 'not running';
    await terminal.print(`${service.name.padEnd(9)} ${where}`);
  }
  return services.every((service) => service.running) ? 0 : EXIT_CODES.unavailable;
}
