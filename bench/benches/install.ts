import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Bench } from '../bench.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { rounded } from '../rig/statistics.ts';

const NOT_COPIED = new Set(['node_modules', 'dist', '.local', '.git', 'coverage']);
const QUESTION = 'How does a run survive the death of a worker?';

export const installBench: Bench = {
  name: 'install',
  description: 'a copy of the sources in an empty folder: seconds of npm ci, of the first build, and to the first report on the own docs',
  defaults: { runs: 1, warm: 0 },
  async run({ log }) {
    const directory = await mkdtemp(path.join(tmpdir(), 'quaestor-install-'));
    try {
      await cp('.', directory, { recursive: true, filter: (source) => !NOT_COPIED.has(path.basename(source)) });
      const load = watchMachine(() => []);
      const install = await timed(directory, log, 'npm', ['ci', '--no-audit', '--no-fund']);
      const build = await timed(directory, log, 'npm', ['run', 'build']);
      const research = await timed(directory, log, 'npm', ['run', 'research', '--', QUESTION]);
      await timed(directory, log, 'npm', ['run', 'services:stop']);
      const modulesBytes = await folderBytes(path.join(directory, 'node_modules'));
      return {
        lines: [
          `npm ci ${rounded(install, 1)} s, build ${rounded(build, 1)} s, first report ${rounded(research, 1)} s: ${rounded(install + build + research, 1)} s from sources to report`,
          `node_modules ${Math.round(modulesBytes / 1e6)} MB`,
          describeLoad(load()),
        ],
        figures: { installSeconds: install, buildSeconds: build, researchSeconds: research, modulesBytes },
      };
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function timed(cwd: string, log: (line: string) => void, command: string, args: string[]): Promise<number> {
  log(`${command} ${args.join(' ')} ...`);
  const startedMs = performance.now();
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with code ${code}.`);
  return (performance.now() - startedMs) / 1_000;
}

async function folderBytes(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
