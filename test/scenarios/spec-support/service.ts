import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { environment } from '#platform';

export interface StartedService {
  child: ChildProcess;
  pid: number;
  ready: Promise<void>;
  /** Exit code and signal. */
  ended: Promise<unknown[]>;
}

/** One compiled service in a process of its own, which nobody starts again. */
export function startService(service: 'supervisor' | 'worker' | 'scratchpad', env: Record<string, string>): StartedService {
  const entry = path.resolve(import.meta.dirname, `../../../dist/apps/${service}/src/main.js`);
  const child = spawn(process.execPath, [entry], { env: { PATH: environment()['PATH'], LOG_LEVEL: 'silent', ...env }, stdio: ['ignore', 'pipe', 'ignore'] });
  const ready = new Promise<void>((resolve) => child.stdout.on('data', (data: Buffer) => data.includes('"ready":true') && resolve()));
  return { child, pid: child.pid!, ready, ended: once(child, 'exit') };
}
