const DELAY_MS_MAX = 10_000;

/** Full jitter: anything between 0 and `baseMs * 2^failures`, at most 10 s. `random` is in [0, 1). */
export const backoffMs = (baseMs: number, failures: number, random: number): number => Math.min(DELAY_MS_MAX, baseMs * 2 ** failures) * random;

/** Waits, or returns early once the signal aborts; never throws. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal?.addEventListener('abort', done);
  });
}
