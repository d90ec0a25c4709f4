import type { Mutant } from '../mutant.ts';

const FENCE = 'libs/database/src/journal/fence.spec.ts';
const CLAIM = 'libs/database/src/journal/claim.spec.ts';
const CLAIM_SOURCE = 'libs/database/src/journal/claim.ts';

/** Who may write a run, and when. */
export const LEASE_MUTANTS: Mutant[] = [
  {
    name: 'no-fence-check',
    promise: 'Q-03',
    file: 'libs/database/src/journal/fence.ts',
    from: "run.lease_epoch !== fence.leaseEpoch || (run.status as RunStatus) !== 'running'",
    to: "(run.status as RunStatus) !== 'running'",
    owner: { spec: FENCE, title: 'and is told to stop' },
  },
  {
    name: 'no-fence-in-the-packet',
    promise: 'Q-03',
    file: 'libs/database/src/journal/quick-writes.ts',
    from: "IF(lease_epoch = ? AND status = 'running'",
    to: "IF(lease_epoch >= ? AND status = 'running'",
    owner: { spec: 'libs/database/src/journal/quick-writes.spec.ts', title: 'is refused under a stale lease' },
  },
  {
    name: 'writes-into-another-life',
    promise: 'Q-14',
    file: 'libs/database/src/journal/fence.ts',
    from: 'run?.incarnation !== fence.incarnation || run.lease_epoch',
    to: 'run?.lease_epoch',
    owner: { spec: FENCE, title: 'although it holds the lease' },
  },
  {
    name: 'packet-into-another-life',
    promise: 'Q-14',
    file: 'libs/database/src/journal/quick-writes.ts',
    from: 'INCARNATION} = ?',
    to: "INCARNATION} IS NOT NULL OR 'none' = ?",
    owner: { spec: FENCE, title: 'although it holds the lease' },
  },
  {
    name: 'writes-after-the-end',
    promise: 'Q-08',
    file: 'libs/database/src/journal/fence.ts',
    from: " || (run.status as RunStatus) !== 'running'",
    to: '',
    owner: { spec: FENCE, title: 'after the run has ended' },
  },
  {
    name: 'claim-keeps-the-epoch',
    promise: 'Q-03',
    file: CLAIM_SOURCE,
    from: 'lease_epoch = lease_epoch + 1',
    to: 'lease_epoch = lease_epoch + 0',
    owner: { spec: CLAIM, title: 'raises the epoch each time' },
  },
  {
    name: 'claims-what-still-waits',
    promise: 'Q-32',
    file: CLAIM_SOURCE,
    from: "AND c.turn = runs.turn AND c.status = 'open'))",
    to: "AND c.turn = runs.turn AND c.status = 'never'))",
    owner: { spec: CLAIM, title: 'waits for open calls' },
  },
  {
    name: 'beating-owner-is-robbed',
    promise: 'Q-03',
    file: 'libs/database/src/journal/fence.ts',
    from: 'o.expires_at >= NOW(3)',
    to: 'o.expires_at < NOW(3)',
    owner: { spec: 'libs/database/src/repositories/lease.repository.spec.ts', title: 'keeps the runs of its process beyond their first term' },
  },
  {
    name: 'lost-attempt-is-free',
    promise: 'Q-13',
    file: CLAIM_SOURCE,
    from: 'charge: lost.estimate',
    to: 'charge: 0',
    owner: { spec: CLAIM, title: 'records the model call of a dead holder as lost' },
  },
  {
    name: 'parks-without-counting',
    promise: 'Q-15',
    file: 'libs/database/src/journal/park.ts',
    from: '=== 0) return false;',
    to: '=== -1) return false;',
    owner: { spec: 'libs/database/src/journal/park.spec.ts', title: 'counts open calls of the newest turn only' },
  },
  {
    name: 'heartbeat-hides-the-cancel',
    promise: 'Q-18',
    file: 'libs/database/src/repositories/lease.repository.ts',
    from: 'cancelRequested: Number(row?.cancelled ?? 0) === 1',
    to: 'cancelRequested: false',
    owner: { spec: 'libs/database/src/repositories/lease.repository.spec.ts', title: 'brings the cancel of a root run to all of its workers' },
  },
];
