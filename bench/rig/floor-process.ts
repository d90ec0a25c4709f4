import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { benchQuestion, newToken, type AskedRun } from './ask.ts';
import type { FloorPrompts } from '../floor/loop.ts';

export interface Floor {
  pid: number;
  ask(script: string): Promise<Pick<AskedRun, 'token' | 'wallMs' | 'status'>>;
  stop(): Promise<void>;
}

/** Starts the bare loop in its own process against the same model server. */
export async function startFloor(webUrl: string, prompts: FloorPrompts): Promise<Floor> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, '../floor/main.js'), webUrl], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(prompts));
  const [ready] = (await once(child.stdout, 'data')) as [Buffer];
  const url = /http:\S+/.exec(ready.toString())?.[0];
  if (url === undefined) throw new Error(`The bare loop did not start: ${ready.toString()}`);
  return { pid: child.pid!, ask: (script) => askFloor(url, script), stop: () => stopChild(child) };
}

async function askFloor(url: string, script: string): Promise<Pick<AskedRun, 'token' | 'wallMs' | 'status'>> {
  const token = newToken();
  const startedMs = performance.now();
  const response = await fetch(`${url}/run`, { method: 'POST', body: benchQuestion(script, token) });
  const text = await response.text();
  return { token, wallMs: performance.now() - startedMs, status: text.includes('"done"') ? 'completed' : 'failed' };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
