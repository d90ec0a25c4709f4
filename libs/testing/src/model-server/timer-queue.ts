/**
 * Timed callbacks for thousands of streams at once: one first-in-first-out queue per delay and one shared timer, because entries of one
 * delay fall due in the order they were made. Callbacks get the time they were due at, so that a stream's pace does not drift.
 */
export class TimerQueue {
  readonly #queues = new Map<number, { entries: { dueMs: number; run: (dueMs: number) => void }[]; head: number }>();
  #timer: NodeJS.Timeout | undefined;
  /** How late callbacks ran, for judging whether the server itself was the bottleneck. */
  readonly lateness = { totalMs: 0, count: 0, maxMs: 0 };

  /** Runs `run` at `fromMs + delayMs` (clock of `performance.now`), or as soon as possible after it. */
  after(delayMs: number, fromMs: number, run: (dueMs: number) => void): void {
    const queue = this.#queues.get(delayMs) ?? { entries: [], head: 0 };
    this.#queues.set(delayMs, queue);
    queue.entries.push({ dueMs: fromMs + delayMs, run });
    this.#timer ??= setTimeout(() => this.#tick(), 1);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queues.clear();
  }

  #tick(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    let isAnyLeft = false;
    for (const queue of this.#queues.values()) {
      for (let next = queue.entries[queue.head]; next !== undefined && next.dueMs <= nowMs; next = queue.entries[queue.head]) {
        queue.head++;
        this.#noteLateness(nowMs - next.dueMs);
        next.run(next.dueMs);
      }
      if (queue.head > 1_024 && queue.head * 2 > queue.entries.length) {
        queue.entries = queue.entries.slice(queue.head);
        queue.head = 0;
      }
      isAnyLeft ||= queue.head < queue.entries.length;
    }
    if (isAnyLeft) this.#timer ??= setTimeout(() => this.#tick(), 1);
  }

  #noteLateness(lateMs: number): void {
    this.lateness.totalMs += lateMs;
    this.lateness.count++;
    if (lateMs > this.lateness.maxMs) this.lateness.maxMs = lateMs;
  }
}
