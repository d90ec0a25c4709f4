/**
 * `read`, asked at most once at a time and once per `keepMs`: whoever asks in between gets the same answer. So a store that is slow or away
 * meets one question however often somebody asks. A failure is not kept.
 */
export function keep<Value>(keepMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let newest: Promise<Value> | null = null;
  let keptUntilMs = Infinity;
  return () => {
    if (newest !== null && performance.now() < keptUntilMs) return newest;
    keptUntilMs = Infinity;
    const answer = read();
    newest = answer;
    answer.then(
      () => (keptUntilMs = performance.now() + keepMs),
      () => (newest = null),
    );
    return answer;
  };
}
