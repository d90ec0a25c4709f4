import { fork, type ChildProcess } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crashPoint } from '#planted';
import type { ChildMessage, ExtractionAnswer, ExtractionTask } from './messages.ts';

/** The compiled child beside compiled code, the source beside source. */
const CHILD_PATH = fileURLToPath(new URL(`./child${extname(import.meta.url)}`, import.meta.url));
/** Dies alone when it eats memory; may read files (its own code), but neither write them nor start a process. Addons: the Markdown converter. */
const CHILD_FLAGS = ['--max-old-space-size=256', '--permission', '--allow-fs-read=*', '--allow-addons'];
const CHILD_START_TIMEOUT_MS = 20_000;
const CHILD_IDLE_MS = 30_000;
/** Parsers leak a little on odd pages; a fresh child is cheaper than finding out which. */
const TASKS_PER_CHILD_MAX = 200;

/** Why a task got no answer. `aborted` is the caller's own doing. */
export class ChildFailure extends Error {
  readonly reason: 'timeout' | 'crashed' | 'aborted';

  constructor(reason: ChildFailure['reason']) {
    super(`extraction child: ${reason}`);
    this.name = 'ChildFailure';
    this.reason = reason;
  }
}

interface Waiting {
  task: ExtractionTask;
  timeoutMs: number;
  resolve(answer: ExtractionAnswer): void;
  reject(failure: ChildFailure): void;
}

interface Child {
  process: ChildProcess;
  isReady: boolean;
  tasksDone: number;
  current: Waiting | null;
  timer: NodeJS.Timeout | undefined;
}

/**
 * At most `size` child processes, each working on one task at a time; started by the first task, replaced when one dies or is killed,
 * ended when idle for 30 s. Idle children do not keep this process alive.
 */
export class ChildPool {
  readonly #size: number;
  readonly #children = new Set<Child>();
  readonly #queue: Waiting[] = [];
  #isClosed = false;

  constructor(size: number) {
    this.#size = size;
  }

  /** The time limit counts from the moment a child starts on the task. Rejects with `ChildFailure`. */
  run(task: ExtractionTask, timeoutMs: number, signal: AbortSignal): Promise<ExtractionAnswer> {
    if (signal.aborted || this.#isClosed) return Promise.reject(new ChildFailure('aborted'));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { task, timeoutMs, resolve: settle(resolve), reject: settle(reject) };
      const abort = () => this.#abort(waiting);
      signal.addEventListener('abort', abort, { once: true });
      this.#queue.push(waiting);
      this.#dispatch();

      function settle<Value>(settlePromise: (value: Value) => void): (value: Value) => void {
        return (value) => {
          signal.removeEventListener('abort', abort);
          settlePromise(value);
        };
      }
    });
  }

  /** Kills every child; running, waiting and later tasks reject. Safe to repeat. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#queue.splice(0)) waiting.reject(new ChildFailure('aborted'));
    for (const child of [...this.#children]) this.#end(child, 'aborted');
  }

  /** Process ids of the living children, for tests and logs. */
  get pids(): number[] {
    return [...this.#children].flatMap(({ process }) => process.pid ?? []);
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const idle = [...this.#children].find((child) => child.isReady && child.current === null);
      if (idle === undefined) break;
      const waiting = this.#queue.shift();
      if (waiting !== undefined) this.#assign(idle, waiting);
    }
    const starting = [...this.#children].filter((child) => !child.isReady).length;
    if (this.#queue.length > starting && this.#children.size < this.#size) this.#start();
  }

  #start(): void {
    const process = fork(CHILD_PATH, { execArgv: CHILD_FLAGS, env: {}, serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const child: Child = { process, isReady: false, tasksDone: 0, current: null, timer: undefined };
    this.#children.add(child);
    child.timer = setTimeout(() => this.#end(child, 'timeout'), CHILD_START_TIMEOUT_MS);
    process.on('message', (message: ChildMessage) => this.#receive(child, message));
    process.on('error', () => this.#end(child, 'crashed'));
    process.on('exit', () => this.#end(child, 'crashed'));
  }

  #assign(child: Child, waiting: Waiting): void {
    clearTimeout(child.timer);
    child.current = waiting;
    child.process.ref();
    child.process.channel?.ref();
    child.timer = setTimeout(() => this.#end(child, 'timeout'), waiting.timeoutMs);
    // a child that cannot be told is about to exit, and that is what rejects the task
    child.process.send(waiting.task, () => undefined);
    crashPoint('K29');
  }

  #receive(child: Child, message: ChildMessage): void {
    clearTimeout(child.timer);
    if ('ready' in message) {
      child.isReady = true;
    } else {
      child.tasksDone++;
      child.current?.resolve(message.answer);
      child.current = null;
    }
    if (child.tasksDone >= TASKS_PER_CHILD_MAX) this.#end(child, 'aborted');
    else this.#rest(child);
    this.#dispatch();
  }

  #rest(child: Child): void {
    child.process.unref();
    child.process.channel?.unref();
    child.timer = setTimeout(() => this.#end(child, 'aborted'), CHILD_IDLE_MS);
    child.timer.unref();
  }

  #abort(waiting: Waiting): void {
    const position = this.#queue.indexOf(waiting);
    if (position !== -1) {
      this.#queue.splice(position, 1);
      waiting.reject(new ChildFailure('aborted'));
      return;
    }
    const child = [...this.#children].find(({ current }) => current === waiting);
    if (child !== undefined) this.#end(child, 'aborted');
  }

  #end(child: Child, reason: ChildFailure['reason']): void {
    if (!this.#children.delete(child)) return;
    clearTimeout(child.timer);
    child.process.kill('SIGKILL');
    child.current?.reject(new ChildFailure(reason));
    // a child that cannot even start must not be started again for ever: whoever waits for one is told
    if (!child.isReady) this.#queue.shift()?.reject(new ChildFailure(reason));
    this.#dispatch();
  }
}
