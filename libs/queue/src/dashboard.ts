import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { JobSender } from './job-sender.ts';

/** The queues as the dashboard shows them: read-only, ids only. */
export const dashboardQueues = (sender: JobSender): BullMQAdapter[] => sender.queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true }));
