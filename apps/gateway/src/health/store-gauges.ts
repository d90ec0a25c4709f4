import { QUEUE_NAMES } from '#contracts';
import { LIVE_STATUSES, type RunCensusRepository } from '#database';
import { scrapedGauge } from '#platform';
import { countJobs, JOB_STATES, type JobSender } from '#queue';
import { keep } from './keep.ts';

/** `/metrics` is open: scrapes in quick succession share one look at the stores. */
const KEEP_MS = 1_000;

const jobs = scrapedGauge('jobs', 'Jobs of all processes, by queue and state.', { queue: QUEUE_NAMES, state: JOB_STATES });
const runs = scrapedGauge('runs', 'Runs that have not ended, roots and workers, by status.', { status: LIVE_STATUSES });
const oldestQueued = scrapedGauge('oldest_queued_run_seconds', 'How long the oldest root run has waited for a supervisor; 0 when none waits.', {});

/** Shows at every scrape what queues and runs hold; a store that is away is left out. Returns how to stop. */
export function showStores(sender: JobSender, census: RunCensusRepository): () => void {
  const take = keep(KEEP_MS, () => census.take());
  const count = keep(KEEP_MS, () => countJobs(sender));
  const stops = [
    jobs.readFrom(async () => (await count()).map(({ queue, state, jobs: value }) => ({ labels: { queue, state }, value }))),
    runs.readFrom(async () => (await take()).counts.map(({ status, runs: value }) => ({ labels: { status }, value }))),
    oldestQueued.readFrom(async () => [{ labels: {}, value: (await take()).oldestQueuedSeconds }]),
  ];
  return () => stops.forEach((stop) => stop());
}
