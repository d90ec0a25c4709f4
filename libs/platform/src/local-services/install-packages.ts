import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';

/** Server programs only: none of these packages sets up or starts a database of the system. */
export const DEBIAN_PACKAGES = { redis: ['redis-server'], database: ['mariadb-server-core', 'mariadb-client-core'] } as const;

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const REFUSE_ALL_SERVICE_STARTS = '#!/bin/sh\nexit 101\n';

export const canInstallPackages = (): boolean => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

/**
 * Installs Debian packages without starting any system service. Returns false when that failed; the last output lines have gone to `log`.
 */
export async function installPackages(packages: readonly string[], log: (line: string) => void): Promise<boolean> {
  log(`installing ${packages.join(', ')} (once) ...`);
  return withoutServiceStarts(async () => {
    const install = ['install', '-y', '--no-install-recommends', ...packages];
    if (await aptGet(install, log)) return true;
    log('refreshing the package lists ...');
    return (await aptGet(['update'], log)) && (await aptGet(install, log));
  });
}

/** Package scripts ask this file whether they may start a service. One that an administrator put there is respected. */
async function withoutServiceStarts<Value>(work: () => Promise<Value>): Promise<Value> {
  const ours = await writeFile(POLICY_FILE, REFUSE_ALL_SERVICE_STARTS, { mode: 0o755, flag: 'wx' }).then(() => true, () => false);
  try {
    return await work();
  } finally {
    if (ours) await rm(POLICY_FILE, { force: true });
  }
}

const OUTPUT_LINES_KEPT = 3;

function aptGet(args: string[], log: (line: string) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn('apt-get', ['-q', ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
    let tail: string[] = [];
    const keep = (data: Buffer): void => {
      tail = [...tail, ...data.toString().split('\n').filter(Boolean)].slice(-OUTPUT_LINES_KEPT);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', () => resolve(false));
    child.on('close', (code) => {
      if (code !== 0) log(`apt-get ${args[0]} failed: ${tail.join(' | ')}`);
      resolve(code === 0);
    });
  });
}
