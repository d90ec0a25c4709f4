import type { QueueName } from '#contracts';
import type { JobSender } from './job-sender.ts';

/** States of a job that an operator looks at. */
export const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;
export type JobState = (typeof JOB_STATES)[number];

export interface JobCount {
  queue: QueueName;
  state: JobState;
  jobs: number;
}

/** Jobs of every queue by state, in one round trip a queue. May never settle while Redis is away: bound it. */
export async function countJobs(sender: JobSender): Promise<JobCount[]> {
  const counts = await Promise.all(
    sender.queues.map(async (queue) => {
      const ofQueue = await queue.getJobCounts(...JOB_STATES);
      return JOB_STATES.map((state) => ({ queue: queue.name as QueueName, state, jobs: ofQueue[state] ?? 0 }));
    }),
  );
  return counts.flat();
}
