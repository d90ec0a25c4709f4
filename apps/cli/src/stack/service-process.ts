import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { QuaestorError } from '#contracts';

/** A service allocates in small pieces: a smaller young generation costs no measurable CPU and saves 300 MB over a busy stack. */
const YOUNG_GENERATION = '--max-semi-space-size=8';

export type ServiceName = 'gateway' | 'supervisor' | 'worker' | 'scratchpad';

export interface ServiceProcessOptions {
  service: ServiceName;
  /** Its name for people and for its log file, such as `worker-2`. */
  title: string;
  entryFile: string;
  env: Record<string, string | undefined>;
  logFile: string;
  onLog: (line: string) => void;
  readyTimeoutMs?: number;
}

export interface ReadyLine {
  service: string;
  port?: number;
  /** What people should know about this start, one sentence each. */
  notices?: string[];
}

const READY_TIMEOUT_MS = 60_000;
const EXIT_CODE_CONFIGURATION = 2;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 10_000;
/** A process that lived this long has recovered: the next crash starts over with the shortest wait. */
const RECOVERED_AFTER_MS = 30_000;
const LOG_TAIL_BYTES = 4_096;

const exitWithParent = pathToFileURL(path.join(import.meta.dirname, `exit-with-parent${path.extname(import.meta.filename)}`)).href;

/** One service of a stack: started, watched, started again after a crash, stopped. */
export class ServiceProcess {
  readonly service: ServiceName;
  readonly title: string;
  private readonly options: ServiceProcessOptions;
  private child: ChildProcess | undefined;
  private exited: Promise<void> = Promise.resolve();
  private stopping = false;
  private crashes = 0;
  private restartTimer: NodeJS.Timeout | undefined;

  constructor(options: ServiceProcessOptions) {
    this.options = options;
    this.service = options.service;
    this.title = options.title;
  }

  /** The pid of the process that runs now; undefined between a crash and its restart. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /**
   * Starts it and waits until it says that it is ready.
   * @throws QuaestorError `CONFIG_INVALID` or `SERVICE_UNAVAILABLE` with the service's own last words.
   */
  async start(): Promise<ReadyLine> {
    const startedAtMs = performance.now();
    const logStart = sizeOf(this.options.logFile);
    const child = this.spawn();
    const ready = await this.untilReady(child);
    if (ready) {
      for (const notice of ready.notices ?? []) this.options.onLog(notice);
      child.once('exit', (code, signal) => this.onCrash(child, signal ?? `exit code ${code}`, startedAtMs));
      return ready;
    }
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await this.exited;
    const words = lastWords(this.options.logFile, logStart).replace(`${this.options.service}: `, '');
    const code = child.exitCode === EXIT_CODE_CONFIGURATION ? 'CONFIG_INVALID' : 'SERVICE_UNAVAILABLE';
    throw new QuaestorError(code, `The ${this.title} did not start${words ? `: ${words}` : ''}${code === 'CONFIG_INVALID' ? '' : ` (log: ${this.options.logFile})`}`);
  }

  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when the process is gone. Safe to repeat. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    clearTimeout(this.restartTimer);
    const timer = setTimeout(() => this.kill(), graceMs);
    this.child?.kill('SIGTERM');
    await this.exited;
    clearTimeout(timer);
  }

  /** SIGKILL, at once, without a restart. */
  kill(): void {
    this.stopping = true;
    clearTimeout(this.restartTimer);
    this.child?.kill('SIGKILL');
  }

  private spawn(): ChildProcess {
    const log = openSync(this.options.logFile, 'a', 0o600);
    try {
      const child = spawn(process.execPath, [YOUNG_GENERATION, '--import', exitWithParent, this.options.entryFile], {
        env: this.options.env,
        stdio: ['ignore', 'pipe', log, 'ipc'],
        // Its own process group: Ctrl-C in the terminal reaches only us, and we stop services in order.
        detached: true,
      });
      this.exited = new Promise((resolve) => child.once('close', () => resolve()));
      child.once('error', () => undefined);
      this.child = child;
      return child;
    } finally {
      closeSync(log);
    }
  }

  private untilReady(child: ChildProcess): Promise<ReadyLine | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), this.options.readyTimeoutMs ?? READY_TIMEOUT_MS);
      const finish = (ready: ReadyLine | undefined): void => {
        clearTimeout(timer);
        resolve(ready);
      };
      child.once('error', () => finish(undefined));
      child.once('exit', () => finish(undefined));
      if (!child.stdout) return finish(undefined);
      // Reading on after the ready line keeps a service that prints more from blocking on a full pipe.
      createInterface({ input: child.stdout }).on('line', (line) => {
        const ready = parseReadyLine(line);
        if (ready) finish(ready);
      });
    });
  }

  private onCrash(child: ChildProcess, how: string, startedAtMs: number): void {
    if (this.child === child) this.child = undefined;
    if (this.stopping) return;
    if (performance.now() - startedAtMs > RECOVERED_AFTER_MS) this.crashes = 0;
    this.scheduleRestart(`${this.title} (pid ${child.pid}) ended: ${how}`);
  }

  private scheduleRestart(reason: string): void {
    const waitMs = Math.min(BACKOFF_FIRST_MS * 2 ** this.crashes, BACKOFF_MAX_MS);
    this.crashes += 1;
    this.options.onLog(`${reason}; starting it again in ${waitMs} ms`);
    this.restartTimer = setTimeout(() => void this.restart(), waitMs);
  }

  private async restart(): Promise<void> {
    try {
      await this.start();
      this.options.onLog(`${this.title} is back (pid ${this.pid})`);
    } catch (error) {
      this.child = undefined;
      if (!this.stopping) this.scheduleRestart(error instanceof Error ? error.message : String(error));
    }
  }
}

function parseReadyLine(line: string): ReadyLine | undefined {
  if (!line.startsWith('{"ready":true')) return undefined;
  try {
    return JSON.parse(line) as ReadyLine;
  } catch {
    return undefined;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** What was written to a log since `start`, for people: plain text, the message of a JSON line, of a crash its one telling line. */
function lastWords(file: string, start: number): string {
  const end = sizeOf(file);
  const from = Math.max(start, end - LOG_TAIL_BYTES);
  if (end <= from) return '';
  const buffer = Buffer.alloc(end - from);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, buffer, 0, buffer.length, from);
  } finally {
    closeSync(descriptor);
  }
  return plainWords(buffer.toString('utf8').trim());
}

const STACK_FRAME = /^\s+at /;
const ERROR_LINE = /^\w*Error\b/;

function plainWords(text: string): string {
  const lines = text.split('\n');
  const plain = lines.filter((line) => !line.startsWith('{'));
  if (plain.some((line) => STACK_FRAME.test(line))) return plain.find((line) => ERROR_LINE.test(line)) ?? '';
  if (plain.length > 0) return plain.join('\n');
  try {
    const { msg, err } = JSON.parse(lines.at(-1) ?? '') as { msg?: string; err?: { message?: string } };
    return [msg, err?.message].filter(Boolean).join(': ');
  } catch {
    return lines.at(-1) ?? '';
  }
}
