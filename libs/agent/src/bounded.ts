/**
 * The work's own end, or the signal's reason once it aborts: what ignores its signal still ends on time, and with its run. With `graceMs`
 * the work gets that long to end by itself, in its own words.
 */
export function bounded<Value>(work: Promise<Value>, signal: AbortSignal, graceMs = 0): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = () => reject(signal.reason as Error);
    const stop = () => {
      if (graceMs === 0) giveUp();
      else timer = setTimeout(giveUp, graceMs);
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    void work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    });
  });
}
