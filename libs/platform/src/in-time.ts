/** What `work` resolves to, or null when it throws, rejects or takes longer than `timeoutMs`; it is not stopped then. */
export async function inTime<Value>(work: () => Promise<Value>, timeoutMs: number): Promise<Value | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs);
  });
  const done = Promise.resolve().then(work).catch(() => null);
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
