import { measureRouterOverhead } from '../../rig/router-overhead.ts';
import { rounded } from '../../rig/statistics.ts';
import type { Part } from './part.ts';

/** Reading a current artifact through the version router beside reading it directly: see `measureRouterOverhead` for the method. */
export const routerPart: Part = () => {
  const { median, p95, worstP95, pairs } = measureRouterOverhead();
  const percent = (share: number): string => `${rounded(share * 100, 2)} %`;
  return Promise.resolve({
    lines: [`version router beside a direct read, ${pairs} alternating pairs in 3 repetitions after 100 warm ones each: median ${percent(median)}, p95 ${percent(p95)}, worst p95 of a repetition ${percent(worstP95)}`],
    figures: { router_overhead_median: median, router_overhead_p95: p95, router_overhead_worst_p95: worstP95 },
  });
};
