import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startLocalServices, type LocalServices } from '#platform';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BUILD_ROOT } from '../project-root.ts';
import { startStack, type Stack, type StackOptions } from './start-stack.ts';

const SERVICES = ['gateway', 'supervisor', 'worker', 'scratchpad'] as const;
const directory = mkdtempSync(path.join(tmpdir(), 'quaestor-stack-'));
const buildRoot = path.join(directory, 'dist');
const journal = path.join(directory, 'journal');
let local: LocalServices;
let stack: Stack | undefined;

/** Stands in for every service: says that it is ready, and writes down how it ends. */
const STAND_IN = (service: string): string => `
const fs = require('node:fs');
const note = (what) => fs.appendFileSync(${JSON.stringify(journal)}, '${service} ' + what + '\\n');
if (process.env.REFUSE === '${service}') { console.error('MODEL_NAME: is not set. Allowed: a name.'); process.exit(2); }
if (process.env.FALL === '${service}') throw new TypeError('zstd is not there');
process.on('SIGTERM', () => { note('stopped'); process.exit(0); });
setInterval(() => {}, 1000);
note('started ' + process.env.GATEWAY_PORT + ' ' + process.env.HEALTH_PORT + ' ' + process.env.BOOTSTRAP_API_KEY);
console.log(JSON.stringify({ ready: true, service: '${service}', port: Number(process.env.GATEWAY_PORT) }));
`;

beforeAll(async () => {
  local = await startLocalServices({ directory: path.join(directory, '.local'), env: { PATH: process.env['PATH'] } });
  for (const service of SERVICES) {
    mkdirSync(path.join(buildRoot, 'apps', service, 'src'), { recursive: true });
    writeFileSync(path.join(buildRoot, 'apps', service, 'src', 'main.js'), STAND_IN(service));
  }
  writeFileSync(path.join(buildRoot, 'package.json'), '{}');
});
afterEach(async () => {
  await stack?.stop();
  stack = undefined;
  rmSync(journal, { force: true });
});
afterAll(async () => {
  await local.stop();
  rmSync(directory, { recursive: true, force: true });
});

const options = (more: Partial<StackOptions> = {}): StackOptions => ({ directory, databaseUrl: local.databaseUrl, redisUrl: local.redisUrl, buildRoot, ...more });
const journalLines = (): string[] => (existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n') : []);
const isRunning = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
};

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a stack', () => {
  it('starts every service with one key and stops them in reverse order', async () => {
    stack = await startStack(options({ workers: 2 }));
    expect(stack.pids()).toEqual({ gateway: [expect.any(Number)], supervisor: [expect.any(Number)], worker: [expect.any(Number), expect.any(Number)], scratchpad: [expect.any(Number)] });
    expect(statSync(stack.apiKeyFile).mode & 0o077).toBe(0);
    expect(journalLines().every((line) => line.endsWith(stack?.apiKey ?? ''))).toBe(true);
    expect(stack.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const pids = Object.values(stack.pids()).flat();
    await stack.stop();
    expect(pids.filter(isRunning)).toEqual([]);
    expect(journalLines().filter((line) => line.endsWith('stopped'))).toEqual(['gateway stopped', 'worker stopped', 'worker stopped', 'supervisor stopped', 'scratchpad stopped']);
  });

  it('starts a service again that was killed, and says so', async () => {
    const log: string[] = [];
    stack = await startStack(options({ onLog: (line) => log.push(line) }));
    const [killed] = stack.pids().worker;
    process.kill(killed ?? 0, 'SIGKILL');
    await until(() => log.length === 2);
    expect(log).toEqual([`worker (pid ${killed}) ended: SIGKILL; starting it again in 100 ms`, expect.stringMatching(/^worker is back \(pid \d+\)$/)]);
    expect(stack.pids().worker).not.toEqual([killed]);
  });

  it('fails in the words of the service that refuses its configuration, and leaves nothing running', async () => {
    await expect(startStack(options({ env: { REFUSE: 'worker' } }))).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: 'The worker did not start: MODEL_NAME: is not set. Allowed: a name.' });
    const count = (what: string): number => journalLines().filter((line) => line.includes(what)).length;
    expect(count('stopped')).toBe(count('started'));
  });

  it('fails when a service crashes before it is ready, without showing a stack trace', async () => {
    await expect(startStack(options({ env: { FALL: 'gateway' } }))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: `The gateway did not start: TypeError: zstd is not there (log: ${path.join(directory, 'logs', 'gateway.log')})` });
  });

  it('ends with its owner, even when that is killed', async () => {
    const owner = path.join(directory, 'owner.mjs');
    const launcher = path.join(BUILD_ROOT, 'apps/cli/src/stack/index.js');
    writeFileSync(owner, `const { startStack } = await import(${JSON.stringify(launcher)}); const stack = await startStack(${JSON.stringify(options())}); process.send(stack.pids());`);
    const child = fork(owner, { stdio: 'inherit', execArgv: [] });
    const [pids] = (await once(child, 'message')) as [Record<string, number[]>];
    child.kill('SIGKILL');
    await until(() => Object.values(pids).flat().every((pid) => !isRunning(pid)));
    expect(journalLines().filter((line) => line.endsWith('stopped'))).toHaveLength(4);
  });
});
