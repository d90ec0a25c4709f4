/** At most `size` holders at once; who comes later waits in line, as long as its signal lets it. */
export class Slots {
  #free: number;
  readonly #line: (() => void)[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  /** Rejects with the signal's reason, without a slot, when it aborts first. Whoever gets a slot gives it back with `leave`, once. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const taken = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#line.splice(this.#line.indexOf(taken), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#line.push(taken);
    });
  }

  leave(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#free++;
  }
}
