import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { BUILD_ROOT } from '../project-root.ts';

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunningCli {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  ended: Promise<CliResult>;
  /** Resolves when stderr has shown this text. */
  shown(text: string): Promise<void>;
}

const MAIN = path.join(BUILD_ROOT, 'apps', 'cli', 'src', 'main.js');

/** Runs the built command line, with no setting of ours in its environment but `env`. */
export function startCli(args: readonly string[], env: Record<string, string> = {}, input = ''): RunningCli {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} does not exist: run "npm run build" first`);
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const waiting: { text: string; resolve: () => void }[] = [];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => {
    stderr += data;
    for (const waiter of waiting) if (stderr.includes(waiter.text)) waiter.resolve();
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return {
    child,
    ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr }))),
    shown: (text) => new Promise((resolve) => (stderr.includes(text) ? resolve() : void waiting.push({ text, resolve }))),
  };
}

export const runCli = (args: readonly string[], env?: Record<string, string>, input?: string): Promise<CliResult> => startCli(args, env, input).ended;
