import { expect, it } from 'vitest';
import { mean, quantile, spreadOf } from './statistics.ts';

it('finds median and quantiles by nearest rank, whatever the order', () => {
  const values = [9, 1, 5, 3, 7, 2, 8, 4, 6, 10];
  expect(spreadOf(values)).toEqual({ median: 6, p10: 2, p90: 10, count: 10 });
  expect(quantile([4], 0.9)).toBe(4);
  expect(mean([1, 2, 6])).toBe(3);
});
it('has no quantile of nothing', () => {
  expect(quantile([], 0.5)).toBeNaN();
});
