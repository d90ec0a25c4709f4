/** Longest wait that is believed; a longer one is a mistake or an outage. */
const RETRY_AFTER_MS_MAX = 3_600_000;

const header = (value: string | string[] | undefined): string => (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).trim();

const secondsOrDateMs = (value: string, nowMs: number): number => {
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  // An HTTP date begins with the name of a day; Date.parse would make a date of almost anything.
  return /^[A-Za-z]{3}/.test(value) ? Date.parse(value) - nowMs : Number.NaN;
};

/**
 * The wait a server asks for, in milliseconds from `nowMs`, at most an hour: `retry-after-ms`, or `retry-after` in seconds or as a date.
 * Undefined when it asks for none or the header cannot be read.
 */
export function readRetryAfterMs(headers: Readonly<Record<string, string | string[] | undefined>>, nowMs: number): number | undefined {
  const milliseconds = header(headers['retry-after-ms']);
  const waitMs = milliseconds === '' ? secondsOrDateMs(header(headers['retry-after']), nowMs) : Number(milliseconds);
  return Number.isFinite(waitMs) ? Math.min(Math.max(Math.ceil(waitMs), 0), RETRY_AFTER_MS_MAX) : undefined;
}

/** What `x-should-retry` says; undefined when it says nothing. */
export function readShouldRetry(headers: Readonly<Record<string, string | string[] | undefined>>): boolean | undefined {
  const word = header(headers['x-should-retry']);
  return word === 'true' ? true : word === 'false' ? false : undefined;
}
