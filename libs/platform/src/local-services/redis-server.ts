import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { redisAnswers } from './probes.ts';
import type { RunAs } from './processes.ts';
import { giveTo } from './run-as.ts';
import type { ServerPlan } from './server-plan.ts';

/** How a private Redis is set up below `directory`: it keeps its data, evicts nothing, and listens on loopback only. */
export function redisPlan(binary: string, directory: string, password: string): ServerPlan {
  const home = path.join(directory, 'redis');
  const configFile = path.join(home, 'redis.conf');
  return {
    name: 'redis',
    title: 'Redis',
    marker: configFile,
    home,
    command: binary,
    async prepare(port: number, runAs: RunAs | undefined) {
      await mkdir(path.join(home, 'data'), { recursive: true, mode: 0o700 });
      await writeFile(configFile, redisConfig(home, port, password), { mode: 0o600 });
      await giveTo(runAs, home, path.join(home, 'data'), configFile);
      return [configFile];
    },
    answers: (port) => redisAnswers(port, password),
  };
}

function redisConfig(home: string, port: number, password: string): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(path.join(home, 'data'))}`,
    'daemonize no',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    'maxmemory-policy noeviction',
    // ten housekeeping rounds a second are most of what an idle stack costs; under load Redis makes more of them by itself
    'hz 1',
    'dynamic-hz yes',
    // The command line must keep naming this file: it is how a process is known to be ours.
    'set-proc-title no',
    '',
  ].join('\n');
}
