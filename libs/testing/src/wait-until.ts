export interface WaitOptions {
  /** What is waited for; named in the error. */
  what: string;
  /** Default 10,000. */
  timeoutMs?: number;
  /** Pause between two looks. Default 20. */
  intervalMs?: number;
}

/** Looks until `condition` gives something other than false, null or undefined, and returns that. Throws at the deadline, with the last error. */
export async function waitUntil<Value>(condition: () => Promise<Value> | Value, options: WaitOptions): Promise<NonNullable<Value>> {
  const deadlineMs = performance.now() + (options.timeoutMs ?? 10_000);
  let lastError: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined) return value;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() > deadlineMs) {
      throw new Error(`Waited ${options.timeoutMs ?? 10_000} ms in vain for ${options.what}.`, lastError === undefined ? undefined : { cause: lastError });
    }
    await new Promise((resolve) => setTimeout(resolve, options.intervalMs ?? 20));
  }
}
