import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { environment } from '#platform';

export interface SpawnOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** The process counts as ready when its output matches. */
  readyPattern: RegExp;
  /** Longest wait for that, in milliseconds. Default 20,000. */
  readyTimeoutMs?: number;
}

export interface SpawnedProcess {
  pid: number;
  /** The match of `readyPattern`, for ports and addresses. */
  ready: RegExpExecArray;
  /** Everything written so far, standard output and error together. */
  output(): string;
  /** Sends SIGTERM, after 5 s SIGKILL, and waits for the end. Safe to repeat. */
  stop(): Promise<void>;
}

const KILL_AFTER_MS = 5_000;

/** Starts a Node script in its own process and waits until it says that it is ready. Throws with its output when it ends or is late. */
export async function spawnNode(args: readonly string[], options: SpawnOptions): Promise<SpawnedProcess> {
  const child = spawn(process.execPath, args, { cwd: options.cwd, env: { ...inheritedEnvironment(), ...options.env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const ready = await new Promise<RegExpExecArray>((resolve, reject) => {
    const timer = setTimeout(() => fail(`was not ready in ${options.readyTimeoutMs ?? 20_000} ms`), options.readyTimeoutMs ?? 20_000);
    const fail = (reason: string): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${args.join(' ')} ${reason}:\n${output.slice(-2_000)}`));
    };
    const read = (data: Buffer): void => {
      output += data.toString();
      const match = options.readyPattern.exec(output);
      if (match === null) return;
      clearTimeout(timer);
      child.removeAllListeners('exit');
      resolve(match);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', (error) => fail(`could not start: ${error.message}`));
    child.once('exit', (code) => fail(`ended with code ${code}`));
  });
  return { pid: child.pid!, ready, output: () => output, stop: () => stopChild(child) };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await exited;
  clearTimeout(timer);
}

// Variables of the test runner change how Node behaves and must not reach a process under test.
function inheritedEnvironment(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'LANG']) {
    const value = environment()[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
