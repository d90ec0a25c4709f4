/** Value below which the given share (0 to 1) of the values lies, by nearest rank; NaN for none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export interface Spread {
  median: number;
  p10: number;
  p90: number;
  count: number;
}

export const spreadOf = (values: readonly number[]): Spread => ({ median: quantile(values, 0.5), p10: quantile(values, 0.1), p90: quantile(values, 0.9), count: values.length });

export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Rounds for printing and JSON. */
export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));
