import { describe, expect, it } from 'vitest';
import { readRetryAfterMs } from './retry-after.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

describe('readRetryAfterMs', () => {
  it.each<[Record<string, string | string[]>, number | undefined]>([
    [{ 'retry-after': '1.5' }, 1_500],
    [{ 'retry-after': ['2', '9'] }, 2_000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:10 GMT' }, 10_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after': '999999999' }, 3_600_000],
    [{ 'retry-after-ms': '20', 'retry-after': '1' }, 20],
    [{ 'retry-after-ms': 'x' }, undefined],
    [{ 'retry-after': '-3' }, undefined],
    [{}, undefined],
  ])('%j is %s', (headers, expected) => {
    expect(readRetryAfterMs(headers, NOW_MS)).toBe(expected);
  });
});
