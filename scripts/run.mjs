// Builds when a source is newer than the last build, then runs a compiled entry point on the pinned Node.
// usage: node scripts/run.mjs ENTRY [ARGS...]   ENTRY: `cli`, a service name, or a path below dist without `.js`.
//        node scripts/run.mjs --build-only
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { onPinnedNode } from './pinned-node.mjs';

const EXIT_USAGE = 2;
const SERVICES = ['cli', 'gateway', 'supervisor', 'worker', 'scratchpad'];
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const dist = path.join(root, 'dist');
const stamp = path.join(dist, '.built');
const lock = path.join(dist, '.building');

await onPinnedNode(root, buildAndRun);

async function buildAndRun() {
  delete process.env.QUAESTOR_REEXEC;
  if (!buildIsFresh()) buildOnce();
  const [entry, ...args] = process.argv.slice(2);
  if (!entry || entry === '--build-only') return;
  const file = path.join(dist, SERVICES.includes(entry) ? `apps/${entry}/src/main.js` : `${entry}.js`);
  if (!existsSync(file)) fail(`There is no ${path.relative(root, file)}: known are ${SERVICES.join(', ')}, or a path below dist without ".js".`);
  module.enableCompileCache(path.join(dist, '.compile-cache'));
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
}

function fail(message) {
  console.error(message);
  process.exit(EXIT_USAGE);
}

function buildIsFresh() {
  if (!existsSync(stamp)) return false;
  const inputs = ['apps', 'libs', 'test', 'bench'].map((dir) => path.join(root, dir)).filter((dir) => existsSync(dir));
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'package.json'].map((file) => statSync(path.join(root, file)).mtimeMs);
  return Math.max(...inputs.map(newestSourceMs), ...settings) <= statSync(stamp).mtimeMs;
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

/** Two commands that start at once build once: nobody runs half-written files. */
function buildOnce() {
  mkdirSync(dist, { recursive: true });
  while (!takeLock()) sleep(100);
  try {
    if (!buildIsFresh()) build();
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock() {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (!ownerIsAlive()) rmSync(lock, { force: true });
  return false;
}

function ownerIsAlive() {
  try {
    const owner = Number(readFileSync(lock, 'utf8'));
    if (!owner) return true; // being written at this moment
    process.kill(owner, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function sleep(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function build() {
  const startedAt = new Date();
  if (process.stderr.isTTY) process.stderr.write('Building Quaestor ...\n');
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
  const result = spawnSync(process.execPath, [compiler, '-p', path.join(root, 'tsconfig.build.json')], { cwd: root, stdio: ['ignore', 2, 2] });
  if (result.status !== 0) {
    rmSync(lock, { force: true });
    fail('The build failed; the messages above name the files.');
  }
  writeFileSync(stamp, `${startedAt.toISOString()}\n`);
  // A source that was saved while the compiler ran is newer than this build.
  utimesSync(stamp, startedAt, startedAt);
}
