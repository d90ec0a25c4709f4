import type { Mutant } from '../mutant.ts';

const SWEEP = 'libs/database/src/repositories/sweep.repository.ts';
const SWEEP_SPEC = 'libs/database/src/repositories/sweep.repository.spec.ts';

/** Whatever needs work has a job, once. */
export const QUEUE_MUTANTS: Mutant[] = [
  {
    name: 'job-without-outbox-row',
    promise: 'Q-15',
    file: 'libs/database/src/repositories/run-acceptance.repository.ts',
    from: '    outboxInsert(job),\n',
    to: '',
    owner: { spec: 'libs/database/src/repositories/outbox.repository.spec.ts', title: 'keeps a job until it was sent' },
  },
  {
    name: 'sweeper-keeps-the-wake-number',
    promise: 'Q-15',
    file: SWEEP,
    from: 'wake_number = wake_number + 1, sent_at',
    to: 'sent_at',
    owner: { spec: SWEEP_SPEC, title: 'under a new number, however many sweep' },
  },
  {
    name: 'sweeper-keeps-the-delivery-number',
    promise: 'Q-15',
    file: SWEEP,
    from: 'toolCallJobId(toolCallId, delivery + 1)',
    to: 'toolCallJobId(toolCallId, delivery)',
    owner: { spec: SWEEP_SPEC, title: 'delivers a worker run whose lease has lapsed again' },
  },
  {
    name: 'trusts-the-completion-event',
    promise: 'Q-14',
    file: 'libs/queue/src/wait-for-call.ts',
    from: 'const timer = setTimeout(done, ms);',
    to: 'const timer = setTimeout(done, ms * 1_000_000);',
    owner: { spec: 'libs/queue/src/wait-for-call.spec.ts', title: 'finds the result by its own poll' },
  },
  {
    name: 'marks-jobs-that-were-not-added',
    promise: 'Q-14',
    file: 'libs/queue/src/job-sender.ts',
    from: '      this.#options.onError(error);\n    }\n  }\n\n  #mark',
    to: '      this.#options.onError(error);\n      this.#mark(jobs.map((job) => job.jobId));\n    }\n  }\n\n  #mark',
    owner: { spec: 'libs/queue/src/job-sender.spec.ts', title: 'marks it not: the outbox row stays' },
  },
  {
    name: 'no-unique-key-of-requests',
    promise: 'Q-25',
    file: 'libs/database/src/migrations/1700000001000-core.ts',
    from: 'PRIMARY KEY (tenant_id, key_sha256),',
    to: 'KEY idempotency_keys_first (tenant_id, key_sha256),',
    owner: { spec: 'apps/gateway/src/runs/runs.spec.ts', title: 'answers 64 parallel posts with one key with one run' },
  },
  {
    name: 'key-of-another-body-repeats',
    promise: 'Q-25',
    file: 'libs/database/src/repositories/idempotency.repository.ts',
    from: 'first.bodySha256 === key.bodySha256',
    to: 'first.bodySha256 !== null',
    owner: { spec: 'apps/gateway/src/runs/runs.spec.ts', title: 'refuses a key that stands for another body' },
  },
];
