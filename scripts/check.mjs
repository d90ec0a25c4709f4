// The one gate: everything a change has to pass. Takes no input, prints progress, leaves nothing running.
// usage: node scripts/check.mjs [STEP...]   STEP: lock build types lint specs mutants acceptance storm; none, or `test`, is all of them.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { checkSteps } from './check-steps.mjs';
import { onPinnedNode } from './pinned-node.mjs';

const EXIT_USAGE = 2;
const TAIL_LINES = 80;
const HEARTBEAT_MS = 15_000;
const STOP_GRACE_MS = 10_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const binaries = [path.dirname(process.execPath), path.join(root, 'node_modules', '.bin')];
const logs = path.join(root, '.local', 'check');

/** The signal that cut this check short: no further step starts. */
let interruptedBy;

await onPinnedNode(root, async () => {
  process.exitCode = await main(process.argv.slice(2));
});

function fail(message) {
  console.error(message);
  process.exit(EXIT_USAGE);
}

async function main(names) {
  const steps = chooseSteps(names);
  console.log(`Node ${process.versions.node}, ${steps.length} steps: ${steps.map(({ name }) => name).join(', ')}`);
  const results = [];
  for (const step of steps) {
    results.push(await runStep(step));
    if (interruptedBy) break;
  }
  await stopTestServices();
  if (interruptedBy) console.log(`\n${interruptedBy}: stopped, the steps after ${results.at(-1).step.name} did not run`);
  printSummary(results);
  return !interruptedBy && results.every(({ passed }) => passed) ? 0 : 1;
}

function chooseSteps(names) {
  const all = checkSteps(root);
  const wanted = names.filter((name) => name !== 'test');
  const unknown = wanted.find((name) => !all.some((step) => step.name === name));
  if (unknown) fail(`There is no step "${unknown}": known are ${all.map(({ name }) => name).join(', ')}, or test for all of them.`);
  return wanted.length === 0 ? all : all.filter(({ name }) => wanted.includes(name));
}

async function runStep(step) {
  console.log(`\n> ${step.name}`);
  const startedAt = performance.now();
  const { problem, output } = step.judge ? { problem: step.judge(), output: '' } : await runProcess(step);
  const seconds = (performance.now() - startedAt) / 1000;
  if (problem) console.log(`${tailOf(output)}${problem}${output ? `; all of its output: ${keepOutput(step.name, output)}` : ''}`);
  console.log(`${problem ? 'FAILED' : 'passed'} ${step.name}, ${seconds.toFixed(1)} s`);
  return { step, passed: !problem, seconds, figure: output.match(step.figure ?? /(?!)/g)?.at(-1)?.trim() };
}

function tailOf(output) {
  return output.split('\n').slice(-TAIL_LINES).map((line) => `  ${line}\n`).join('');
}

function keepOutput(name, output) {
  mkdirSync(logs, { recursive: true });
  const file = path.join(logs, `${name}.log`);
  writeFileSync(file, `${output}\n`);
  return path.relative(root, file);
}

/** The step leads a process group of its own, so that whatever it leaves behind can be ended with it. */
async function runProcess({ name, args, timeoutMs }) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: stepEnvironment() });
  const startedAt = performance.now();
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += stripVTControlCharacters(text)));
  const heartbeat = setInterval(() => console.log(`  ${name}, ${Math.round((performance.now() - startedAt) / 1000)} s: ${lastLineOf(output)}`), HEARTBEAT_MS);
  let timedOut = false;
  const timer = setTimeout(() => { timedOut = true; signalGroup(child.pid, 'SIGTERM'); }, timeoutMs);
  const insist = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), timeoutMs + STOP_GRACE_MS);
  const interrupted = (signal) => {
    interruptedBy = signal;
    signalGroup(child.pid, 'SIGTERM');
    setTimeout(() => signalGroup(child.pid, 'SIGKILL'), STOP_GRACE_MS).unref();
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  const ending = await new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not start: ${error.message}`));
    child.once('exit', (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? `exit code ${code}`}`));
  });
  for (const one of [timer, insist]) clearTimeout(one);
  clearInterval(heartbeat);
  for (const signal of SIGNALS) process.removeListener(signal, interrupted);
  signalGroup(child.pid, 'SIGKILL');
  return { problem: timedOut ? `took longer than ${timeoutMs / 60_000} minutes` : ending, output: output.trimEnd() };
}

function stepEnvironment() {
  const { QUAESTOR_REEXEC: _, ...env } = process.env;
  return { ...env, NO_COLOR: '1', PATH: [...binaries, env.PATH ?? ''].join(path.delimiter) };
}

function lastLineOf(output) {
  return output.trimEnd().split('\n').at(-1)?.trim() || '(nothing yet)';
}

function signalGroup(leader, signal) {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** A spec run that was cut short cannot stop the stores it started. */
async function stopTestServices() {
  const platform = path.join(root, 'dist/libs/platform/src/index.js');
  if (!existsSync(platform)) return;
  const { stopUnusedLocalServices } = await import(pathToFileURL(platform).href);
  for (const folder of ['.local/test', '.local/storm/stores']) await stopUnusedLocalServices(path.join(root, folder));
}

function printSummary(results) {
  const width = Math.max(...results.map(({ step }) => step.name.length));
  console.log('');
  for (const { step, passed, seconds, figure } of results) {
    console.log(`${passed ? 'ok  ' : 'FAIL'} ${step.name.padEnd(width)} ${`${seconds.toFixed(1)} s`.padStart(8)}  ${figure ?? step.shows}`);
  }
  const failed = results.filter(({ passed }) => !passed).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
}
