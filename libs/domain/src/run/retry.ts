import { ATTEMPTS_PER_TURN_MAX, QuaestorError } from '#contracts';

const BACKOFF_BASE_MS = 500;
const BACKOFF_MAX_MS = 30_000;

/**
 * Whether and when a failed model attempt is tried again. `Retry-After` is a floor with jitter above it; a wait that would pass the
 * deadline is not begun. `random` is in [0, 1).
 */
export function nextAttemptDelayMs(error: QuaestorError, attempt: number, msLeft: number, random: number): number | null {
  if (!error.retryable || attempt >= ATTEMPTS_PER_TURN_MAX) return null;
  const backoffMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (attempt - 1)) * (0.5 + random / 2);
  const delayMs = Math.round(Math.max(backoffMs, (error.retryAfterMs ?? 0) * (1 + random / 10)));
  return delayMs >= msLeft ? null : delayMs;
}

/** How a turn goes on after a failed attempt: again with the same model after a wait, or at once with the next one. */
export type NextTry = { kind: 'again'; delayMs: number } | { kind: 'fall-back' };

/**
 * What follows a failed model attempt; null ends the turn. The same model is tried within its bounds; then, or at once when another try is
 * pointless or would come too late, the next model of the role.
 */
export function nextTry(error: QuaestorError, attempt: number, msLeft: number, random: number, hasFallback: boolean): NextTry | null {
  const delayMs = nextAttemptDelayMs(error, attempt, msLeft, random);
  if (delayMs !== null) return { kind: 'again', delayMs };
  return hasFallback && error.code.startsWith('MODEL_') ? { kind: 'fall-back' } : null;
}

/** Stop reason of a run whose model cannot be used any more, by error code. */
export function failureReason(error: unknown): 'provider_failed' | 'internal_error' {
  return error instanceof QuaestorError && error.code.startsWith('MODEL_') ? 'provider_failed' : 'internal_error';
}
