import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { environment } from '#platform';

export type Service = 'gateway' | 'supervisor' | 'worker' | 'scratchpad';

/** One place in the fleet: whichever process fills it at the moment. */
export interface Slot {
  readonly service: Service;
  readonly title: string;
  pid: number | undefined;
  isReady: boolean;
  /** When it said so, by `performance.now`. */
  readyAtMs: number;
  /** `K07:3` when the process was started to die there by itself. */
  armed: string | null;
}

/** How a process of the fleet ended. */
export interface Ending {
  slot: Slot;
  pid: number;
  armed: string | null;
  wasReady: boolean;
  code: number | null;
  signal: NodeJS.Signals | null;
  atMs: number;
}

export interface FleetOptions {
  /** `dist` of the project. */
  buildRoot: string;
  /** Folder for the logs. */
  logDirectory: string;
  env: Record<string, string>;
  /** Called for each start: `KILL_AT` of the new process, or null. */
  arm(slot: Slot): string | null;
  onEnding(ending: Ending): void;
}

const SLOTS: readonly [Service, string][] = [
  ['scratchpad', 'scratchpad'],
  ['supervisor', 'supervisor-1'],
  ['supervisor', 'supervisor-2'],
  ['worker', 'worker-1'],
  ['worker', 'worker-2'],
  ['gateway', 'gateway'],
];
const READY_TIMEOUT_MS = 90_000;
/** After an exit by itself: a service that finds a store away must not spin. */
const RESTART_AFTER_EXIT_MS = 250;
const STOP_TIMEOUT_MS = 30_000;

/** The services as real processes, each started again at once when it ends, until `stop`. */
export class Fleet {
  readonly slots: Slot[] = SLOTS.map(([service, title]) => ({ service, title, pid: undefined, isReady: false, readyAtMs: 0, armed: null }));
  readonly #options: FleetOptions;
  readonly #children = new Map<Slot, ChildProcess>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopping = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    mkdirSync(options.logDirectory, { recursive: true });
  }

  start(): void {
    for (const slot of this.slots) this.#spawn(slot);
  }

  get ready(): Slot[] {
    return this.slots.filter((slot) => slot.isReady);
  }

  /** Signals the process of a slot, if it is still that one. */
  signal(slot: Slot, pid: number, signal: 'SIGKILL' | 'SIGTERM'): boolean {
    if (slot.pid !== pid) return false;
    // who drains takes no part any more, and a second signal would only hurry it
    if (signal === 'SIGTERM') slot.isReady = false;
    return this.#children.get(slot)?.kill(signal) === true;
  }

  /** Ends everything, in order, without a restart. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#children.values()].map((child) => endChild(child)));
  }

  #spawn(slot: Slot): void {
    const { buildRoot, logDirectory, env } = this.#options;
    slot.armed = this.#options.arm(slot);
    const log = openSync(path.join(logDirectory, `${slot.title}.log`), 'a');
    const preload = path.join(buildRoot, 'apps/cli/src/stack/exit-with-parent.js');
    const child = spawn(process.execPath, ['--conditions=planted', '--max-semi-space-size=8', '--import', preload, path.join(buildRoot, 'apps', slot.service, 'src/main.js')], {
      env: { ...inherited(), ...env, ...(slot.armed === null ? {} : { KILL_AT: slot.armed }) },
      stdio: ['ignore', 'pipe', log, 'ipc'],
      detached: true,
    });
    closeSync(log);
    this.#children.set(slot, child);
    slot.pid = child.pid;
    const late = setTimeout(() => child.kill('SIGABRT'), READY_TIMEOUT_MS);
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (!line.startsWith('{"ready":true')) return;
      clearTimeout(late);
      if (slot.pid !== child.pid) return;
      slot.isReady = true;
      slot.readyAtMs = performance.now();
    });
    child.once('exit', (code, signal) => {
      clearTimeout(late);
      this.#ended(slot, child, code, signal);
    });
  }

  #ended(slot: Slot, child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    const ending: Ending = { slot, pid: child.pid!, armed: slot.armed, wasReady: slot.isReady, code, signal, atMs: Date.now() };
    slot.isReady = false;
    slot.pid = undefined;
    this.#children.delete(slot);
    if (this.#isStopping) return;
    this.#options.onEnding(ending);
    if (signal === 'SIGKILL') return this.#spawn(slot);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#isStopping) this.#spawn(slot);
    }, RESTART_AFTER_EXIT_MS);
    this.#timers.add(timer);
  }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

/** Nothing of the caller's settings may reach a service under test, but what it runs on. */
function inherited(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG'];
  return Object.fromEntries(names.flatMap((name) => (environment()[name] === undefined ? [] : [[name, environment()[name] as string]])));
}
