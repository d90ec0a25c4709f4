import { QuaestorError } from '#contracts';
import type { ProviderFailures } from './errors.ts';

export interface CallLimits {
  /** Longest silence, in milliseconds. */
  idleTimeoutMs: number;
  /** Longest call, in milliseconds. */
  callTimeoutMs: number;
}

/**
 * Ends a model call from outside: by the caller's signal, by silence, or by its total time. `signal` goes to the HTTP client; afterwards
 * `throwIfEnded` says why, because an HTTP client may end quietly after an abort. Close it when the call is over.
 */
export class CallGuard {
  readonly #controller = new AbortController();
  readonly #callTimer: NodeJS.Timeout;
  readonly #caller: AbortSignal;
  readonly #failures: ProviderFailures;
  #idleTimer: NodeJS.Timeout;
  #idleTimeoutMs: number;
  #fedAt = performance.now();
  #ended: (() => Error) | undefined;

  constructor(caller: AbortSignal, limits: CallLimits, failures: ProviderFailures) {
    this.#caller = caller;
    this.#failures = failures;
    this.#idleTimeoutMs = limits.idleTimeoutMs;
    this.#callTimer = setTimeout(() => this.#end(() => failures.timeout(`did not finish within ${limits.callTimeoutMs} ms`)), limits.callTimeoutMs);
    this.#idleTimer = this.#armIdle(limits.idleTimeoutMs);
    caller.addEventListener('abort', this.#onAbort, { once: true });
    if (caller.aborted) this.#endByCaller(false);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Data came. Cheap: the timer looks at the time of the last call when it fires. */
  feed(): void {
    this.#fedAt = performance.now();
  }

  /** From now on the call may be silent only this long. */
  shortenIdle(idleTimeoutMs: number): void {
    clearTimeout(this.#idleTimer);
    this.#fedAt = performance.now();
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#idleTimer = this.#armIdle(idleTimeoutMs);
  }

  throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#ended();
  }

  /** True when the caller asked for the end. */
  get cancelled(): boolean {
    return this.#caller.aborted;
  }

  close(): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#callTimer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#endByCaller(true);

  #endByCaller(sent: boolean): void {
    const reason: unknown = this.#caller.reason;
    this.#end(() => (reason instanceof QuaestorError ? reason : this.#failures.cancelled(sent)));
  }

  #armIdle(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const leftMs = this.#idleTimeoutMs - (performance.now() - this.#fedAt);
      if (leftMs > 0) this.#idleTimer = this.#armIdle(Math.ceil(leftMs));
      else this.#end(() => this.#failures.timeout(`was silent for ${this.#idleTimeoutMs} ms`));
    }, delayMs);
  }

  #end(error: () => Error): void {
    this.#ended ??= error;
    this.#controller.abort();
  }
}
