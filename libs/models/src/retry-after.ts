/** Longest wait that is believed; a longer one is a mistake or an outage. */
const RETRY_AFTER_MS_MAX = 3_600_000;

const header = (value: string | string[] | undefined): string => (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).trim();

/**
 * The wait a server asks for, in milliseconds from `nowMs`, at most an hour: `retry-after-ms`, or `retry-after` in seconds or as a date.
 * Undefined when it asks for none or the header cannot be read.
 */
export function readRetryAfterMs(headers: Readonly<Record<string, string | string[] | undefined>>, nowMs: number): number | undefined {
  const milliseconds = header(headers['retry-after-ms']);
  const seconds = header(headers['retry-after']);
  const waitMs = milliseconds !== '' ? Number(milliseconds) : /^\d+(\.\d+)?$/.test(seconds) ? Number(seconds) * 1000 : Date.parse(seconds) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(Math.max(Math.ceil(waitMs), 0), RETRY_AFTER_MS_MAX) : undefined;
}
