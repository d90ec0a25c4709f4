import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { QuaestorError } from '#contracts';
import { databaseAnswers, redisAnswers } from './probes.ts';
import { waitFor } from './processes.ts';
import type { RunningService, ServiceName } from './state-file.ts';

const run = promisify(execFile);
const DOCKER_TIMEOUT_MS = 10_000;
const PULL_TIMEOUT_MS = 600_000;
const READY_TIMEOUT_MS = 120_000;

const IMAGES = {
  redis: {
    image: 'redis:7-alpine',
    port: 6379,
    dataFolder: '/data',
    secret: 'REDIS_PASSWORD',
    command: ['sh', '-c', 'exec redis-server --requirepass "$REDIS_PASSWORD" --appendonly yes --appendfsync everysec --save "" --maxmemory-policy noeviction'],
  },
  database: {
    image: 'mysql:8.4',
    port: 3306,
    dataFolder: '/var/lib/mysql',
    secret: 'MYSQL_ROOT_PASSWORD',
    command: ['--skip-name-resolve', '--transaction-isolation=READ-COMMITTED', '--max-allowed-packet=64M', '--max-connections=500', '--skip-log-bin', '--performance-schema=OFF', '--mysqlx=OFF'],
  },
} as const;

/** The user of a containerised MySQL; the image knows no other before its first start. */
export const CONTAINER_DATABASE_USER = 'root';

/** Docker counts only when its engine answers: the program alone is no engine. */
export async function dockerAnswers(): Promise<boolean> {
  return run('docker', ['info'], { timeout: DOCKER_TIMEOUT_MS }).then(() => true, () => false);
}

const containerName = (directory: string, name: ServiceName): string => `quaestor-${createHash('sha256').update(directory).digest('hex').slice(0, 12)}-${name}`;

/** Runs one service as a container on a random loopback port, its data in a volume of the same name. */
export async function launchContainer(directory: string, name: ServiceName, password: string): Promise<RunningService> {
  const { image, port, dataFolder, secret, command } = IMAGES[name];
  const container = containerName(directory, name);
  await stopContainer(container);
  const args = ['run', '--detach', '--name', container, '--publish', `127.0.0.1::${port}`, '--volume', `${container}:${dataFolder}`, '--env', secret, image, ...command];
  await run('docker', args, { timeout: PULL_TIMEOUT_MS, env: { ...process.env, [secret]: password } });
  const { stdout } = await run('docker', ['port', container, `${port}/tcp`], { timeout: DOCKER_TIMEOUT_MS });
  const published = Number(stdout.trim().split('\n')[0]?.split(':').at(-1));
  const answers = (): Promise<boolean> => (name === 'redis' ? redisAnswers(published, password) : databaseAnswers(published, CONTAINER_DATABASE_USER, password));
  if (await waitFor(answers, READY_TIMEOUT_MS)) return { via: 'container', container, port: published };
  throw new QuaestorError('LOCAL_SERVICES_UNAVAILABLE', `The container ${container} does not answer: see "docker logs ${container}".`);
}

/** Stops and removes a container; its volume stays. Nothing to do when it is gone. */
export async function stopContainer(container: string): Promise<void> {
  await run('docker', ['stop', container], { timeout: DOCKER_TIMEOUT_MS * 3 }).catch(() => undefined);
  await run('docker', ['rm', '--force', container], { timeout: DOCKER_TIMEOUT_MS }).catch(() => undefined);
}
