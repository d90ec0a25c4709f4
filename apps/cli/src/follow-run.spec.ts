import { describe, expect, it } from 'vitest';
import { overdueAfterMs } from './follow-run.ts';

describe('waiting for a run', () => {
  const now = Date.parse('2026-01-01T00:00:00.000Z');
  it('ends a minute and a half after the deadline', () => expect(overdueAfterMs('2026-01-01T00:15:00.000Z', now)).toBe(990_000));
  it('gives services as long to end a run whose deadline has passed', () => expect(overdueAfterMs('2025-12-31T00:00:00.000Z', now)).toBe(90_000));
});
