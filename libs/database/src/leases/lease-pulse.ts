import { Worker } from 'node:worker_threads';

export interface PulseOptions {
  /** `mysql://user:password@host:port/database` */
  url: string;
  /** The process, as its claims name it in `runs.lease_owner`. */
  owner: string;
  leaseTtlMs: number;
  /** Time between beats, milliseconds. */
  intervalMs: number;
  /** An event loop that has not turned for this long is taken for stuck: the pulse stops, and other processes take the runs over. */
  blockedMaxMs: number;
  onError(error: unknown): void;
}

/** What the thread is started with; `shared` holds two 64-bit cells: a state (`IDLE`, `HOLDING`, `STOPPED`), and when the event loop turned last. */
export type PulseData = Omit<PulseOptions, 'onError'> & { shared: SharedArrayBuffer };

const [STATE, ALIVE_AT] = [0, 1] as const;
const [IDLE, HOLDING, STOPPED] = [0n, 1n, 2n] as const;

/**
 * Keeps the leases of a busy process from a thread of its own. With 800 runs in hand an event loop may take seconds to come back to its
 * timers; leases of three seconds then lapsed under a process that was alive, and a fifth of its model calls were made again.
 */
export class LeasePulse {
  readonly #cells: BigInt64Array;
  readonly #thread: Worker;

  constructor({ onError, ...options }: PulseOptions) {
    const shared = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT);
    this.#cells = new BigInt64Array(shared);
    const data: PulseData = { ...options, shared };
    // the extension of this very file: `.ts` from source, `.js` from a build
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    this.#thread = new Worker(new URL(`./pulse-thread${extension}`, import.meta.url), { workerData: data });
    this.#thread.on('error', onError);
    this.#thread.unref();
  }

  /** Says whether this process holds any run. */
  hold(holding: boolean): void {
    this.alive();
    this.#tell(holding ? HOLDING : IDLE);
  }

  /** Says that the event loop has turned; to be called several times within `blockedMaxMs`. */
  alive(): void {
    Atomics.store(this.#cells, ALIVE_AT, process.hrtime.bigint());
  }

  /** The thread is told first: ending it from outside does not reach one that is just about to wait. */
  async stop(): Promise<void> {
    this.#tell(STOPPED);
    await this.#thread.terminate();
  }

  #tell(state: bigint): void {
    Atomics.store(this.#cells, STATE, state);
    Atomics.notify(this.#cells, STATE);
  }
}
