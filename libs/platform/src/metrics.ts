import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { inTime } from './in-time.ts';

/** The one registry of this process; `/metrics` prints it. */
export const metricsRegistry = new Registry();

const PREFIX = 'quaestor_';

/** Label names and every value each may take: an unlisted value is counted as `other`, so that no input can grow the series. */
export type MetricLabels = Readonly<Record<string, readonly string[]>>;
type LabelValues<Labels extends MetricLabels> = { readonly [Name in keyof Labels]: Labels[Name][number] | (string & {}) };

function bounded<Labels extends MetricLabels>(labels: Labels, values: LabelValues<Labels>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of Object.keys(labels)) {
    const value = values[name] as string;
    result[name] = labels[name]?.includes(value) ? value : 'other';
  }
  return result;
}

const options = <Labels extends MetricLabels>(name: string, help: string, labels: Labels) => ({
  name: PREFIX + name,
  help,
  labelNames: Object.keys(labels),
  registers: [metricsRegistry],
});

/** A number that only rises. Give `name` without the prefix and with its unit last, such as `attempts_total`. Register once per process. */
export function counter<const Labels extends MetricLabels>(name: string, help: string, labels: Labels): { add(values: LabelValues<Labels>, amount?: number): void } {
  const metric = new Counter(options(name, help, labels));
  return { add: (values, amount = 1) => metric.inc(bounded(labels, values), amount) };
}

/** A number that rises and falls, such as `leases_held`. */
export function gauge<const Labels extends MetricLabels>(name: string, help: string, labels: Labels): { set(values: LabelValues<Labels>, value: number): void } {
  const metric = new Gauge(options(name, help, labels));
  return { set: (values, value) => metric.set(bounded(labels, values), value) };
}

/** One series of a scraped gauge. */
export interface Reading<Labels extends MetricLabels> {
  labels: LabelValues<Labels>;
  value: number;
}

export interface ScrapedGauge<Labels extends MetricLabels> {
  /** Asks `read` at every scrape until it is stopped, and nobody who was asked before meanwhile. Returns how to stop; safe to repeat. */
  readFrom(read: () => Promise<readonly Reading<Labels>[]>): () => void;
}

/** How long a scrape waits for what a store says. */
const READ_TIMEOUT_MS = 1_000;

/**
 * A gauge whose values are read when somebody scrapes, such as `jobs`. A read that fails or takes longer than a second leaves the gauge
 * without values in that scrape, which goes on without it. Register once per process.
 */
export function scrapedGauge<const Labels extends MetricLabels>(name: string, help: string, labels: Labels): ScrapedGauge<Labels> {
  const sources = new Set<() => Promise<readonly Reading<Labels>[]>>();
  const metric = new Gauge({
    ...options(name, help, labels),
    async collect() {
      const newest = [...sources].at(-1);
      const readings = newest === undefined ? [] : ((await inTime(newest, READ_TIMEOUT_MS)) ?? []);
      metric.reset();
      // a gauge without labels is zero after a reset, which would be a claim
      if (Object.keys(labels).length === 0) metric.remove();
      for (const reading of readings) metric.set(bounded(labels, reading.labels), reading.value);
    },
  });
  return {
    readFrom(read) {
      sources.add(read);
      return () => void sources.delete(read);
    },
  };
}

const SECONDS_BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 120, 600];

/** Durations in seconds, such as `model_call_seconds`. */
export function histogram<const Labels extends MetricLabels>(name: string, help: string, labels: Labels): { observe(values: LabelValues<Labels>, seconds: number): void } {
  const metric = new Histogram({ ...options(name, help, labels), buckets: SECONDS_BUCKETS });
  return { observe: (values, seconds) => metric.observe(bounded(labels, values), seconds) };
}

const withNodeMetrics = new WeakSet<Registry>();

/** Adds Node's own figures to `registry`: CPU, memory, event loop, garbage collection. Safe to repeat. */
export function collectNodeMetrics(registry: Registry = metricsRegistry): void {
  if (withNodeMetrics.has(registry)) return;
  withNodeMetrics.add(registry);
  // at its default of 10 ms the delay monitor alone wakes an idle process a hundred times a second
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 200 });
}
