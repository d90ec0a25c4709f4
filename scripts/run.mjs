// Builds when a source is newer than the last build, then runs a compiled entry point on the pinned Node.
// usage: node scripts/run.mjs ENTRY [ARGS...]   ENTRY: `cli`, a service name, or a path below dist without `.js`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const stamp = path.join(root, 'dist', '.built');

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) reexecOnPinnedNode();

function reexecOnPinnedNode() {
  const pinned = path.join(root, 'node_modules', '.bin', 'node');
  if (!existsSync(pinned) || process.env.QUAESTOR_REEXEC) {
    console.error(`Quaestor needs Node 24.15 or newer, this is ${process.version}: run "npm ci" (it brings Node 24 along), or install Node 24.`);
    process.exit(2);
  }
  const result = spawnSync(pinned, process.argv.slice(1), { stdio: 'inherit', env: { ...process.env, QUAESTOR_REEXEC: '1' } });
  process.exit(result.status ?? 1);
}

function newestSourceMs(dir) {
  let newest = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestSourceMs(file));
    else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.spec.ts')) newest = Math.max(newest, statSync(file).mtimeMs);
  }
  return newest;
}

function buildIsFresh() {
  if (!existsSync(stamp)) return false;
  const builtMs = statSync(stamp).mtimeMs;
  const inputs = ['apps', 'libs', 'test', 'bench'].map((dir) => path.join(root, dir)).filter(existsSync).map(newestSourceMs);
  return Math.max(...inputs, statSync(path.join(root, 'tsconfig.json')).mtimeMs) <= builtMs;
}

function build() {
  const startedMs = Date.now();
  mkdirSync(path.dirname(stamp), { recursive: true });
  if (process.stderr.isTTY) process.stderr.write('Building Quaestor ...\n');
  const result = spawnSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', path.join(root, 'tsconfig.build.json')], { cwd: root, stdio: ['ignore', 2, 2] });
  if (result.status !== 0) {
    console.error('The build failed; the messages above name the files.');
    process.exit(2);
  }
  writeFileSync(stamp, new Date(startedMs).toISOString());
}

if (!buildIsFresh()) build();
const [entry, ...args] = process.argv.slice(2);
if (entry && entry !== '--build-only') {
  const services = ['cli', 'gateway', 'supervisor', 'worker', 'scratchpad'];
  const file = path.join(root, 'dist', services.includes(entry) ? `apps/${entry}/src/main.js` : `${entry}.js`);
  process.argv = [process.execPath, file, ...args];
  await import(file);
}
