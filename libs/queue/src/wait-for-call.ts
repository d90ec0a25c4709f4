import type { ToolCallId, ToolResult } from '#contracts';
import type { Completions } from './completions.ts';

const POLL_FIRST_MS = 150;
const POLL_MAX_MS = 1_000;

/**
 * Waits until a call's row is settled by its owner: woken by the completion event, with a bounded poll for events that were lost. Many
 * calls wait on one listener.
 */
export class CallWaiter {
  readonly #readResult: (toolCallId: ToolCallId) => Promise<ToolResult | null>;
  readonly #waiting = new Map<ToolCallId, () => void>();
  readonly #stop: () => void;

  constructor(completions: Completions, readResult: (toolCallId: ToolCallId) => Promise<ToolResult | null>) {
    this.#readResult = readResult;
    this.#stop = completions.listen((toolCallId) => this.#waiting.get(toolCallId)?.());
  }

  /** Rejects with the signal's reason when it aborts. */
  async wait(toolCallId: ToolCallId, signal: AbortSignal): Promise<ToolResult> {
    // an event that arrives between the read and the wait must not be missed
    let heard = false;
    let wake = () => {};
    const hear = () => {
      heard = true;
      wake();
    };
    this.#waiting.set(toolCallId, hear);
    try {
      for (let pollMs = POLL_FIRST_MS; ; pollMs = Math.min(POLL_MAX_MS, pollMs * 2)) {
        if (!heard) await pause(pollMs, signal, (resolve) => (wake = resolve));
        heard = false;
        signal.throwIfAborted();
        const result = await this.#readResult(toolCallId);
        if (result) return result;
      }
    } finally {
      // a later wait for the same call, by a new claim of its run in this very process, keeps its own
      if (this.#waiting.get(toolCallId) === hear) this.#waiting.delete(toolCallId);
    }
  }

  close(): void {
    this.#stop();
  }
}

function pause(ms: number, signal: AbortSignal, onWaiting: (resolve: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
    else onWaiting(done);
  });
}
