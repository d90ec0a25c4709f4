import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ATTEMPTS_PER_TURN_MAX, QuaestorError } from '#contracts';
import { failureReason, nextAttemptDelayMs } from './retry.ts';

const busy = new QuaestorError('MODEL_OVERLOADED', 'busy');

describe('nextAttemptDelayMs', () => {
  it('doubles between a half and a whole of its step', () => {
    expect(nextAttemptDelayMs(busy, 1, 60_000, 0)).toBe(250);
    expect(nextAttemptDelayMs(busy, 2, 60_000, 0)).toBe(500);
    expect(nextAttemptDelayMs(busy, 1, 60_000, 0.999_999)).toBe(500);
  });

  it('gives up after the last attempt, on a final error, and when the wait would pass the deadline', () => {
    expect(nextAttemptDelayMs(busy, ATTEMPTS_PER_TURN_MAX, 60_000, 0)).toBeNull();
    expect(nextAttemptDelayMs(new QuaestorError('MODEL_UNAUTHORIZED', 'no key'), 1, 60_000, 0)).toBeNull();
    expect(nextAttemptDelayMs(busy, 1, 250, 0)).toBeNull();
    expect(nextAttemptDelayMs(busy, 1, 251, 0)).toBe(250);
  });

  it('never comes back before Retry-After, and never waits past the deadline', () => {
    const given = fc.tuple(fc.nat(120_000), fc.integer({ min: 1, max: 4 }), fc.nat(200_000), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }));
    fc.assert(
      fc.property(given, ([retryAfterMs, attempt, msLeft, random]) => {
        const delayMs = nextAttemptDelayMs(new QuaestorError('MODEL_RATE_LIMITED', 'later', { retryAfterMs }), attempt, msLeft, random);
        return delayMs === null || (delayMs >= retryAfterMs && delayMs < msLeft && Number.isInteger(delayMs));
      }),
    );
  });
});

describe('failureReason', () => {
  it('blames the provider for its own errors only', () => {
    expect(failureReason(busy)).toBe('provider_failed');
    expect(failureReason(new QuaestorError('JOURNAL_INVALID', 'broken row'))).toBe('internal_error');
    expect(failureReason(new TypeError('bug'))).toBe('internal_error');
  });
});
