import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const EXIT_USAGE = 2;

/** Calls `main` on Node 24.15 or newer: in this process, or in one that runs this script again on the Node that `npm ci` brought. */
export async function onPinnedNode(root, main) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const isRecent = major > 24 || (major === 24 && minor >= 15);
  return isRecent ? main() : runAgain(findPinnedNode(root));
}

/** Not through `.bin`: npm 10 removes that link together with the packages of other platforms. */
function findPinnedNode(root) {
  const pinned = path.join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(pinned) && !process.env.QUAESTOR_REEXEC) return pinned;
  console.error(`Quaestor needs Node 24.15 or newer, this is ${process.version}: run "npm ci" (it brings Node 24 along), or install Node 24.`);
  process.exit(EXIT_USAGE);
}

async function runAgain(pinned) {
  const child = spawn(pinned, process.argv.slice(1), { stdio: 'inherit', env: { ...process.env, QUAESTOR_REEXEC: '1' } });
  // We outlive our child, so that the shell's prompt does not come back while it still cleans up.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const [code, signal] = await new Promise((resolve) => child.once('exit', (...how) => resolve(how)));
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
