import { LEASE_TTL_MS, SWEEP_INTERVAL_MS } from '#contracts';
import type { Oracle } from './oracle.ts';

/** A stopped root run may still write its report for this long. */
const FINISH_MS = 60_000;
const OVERDUE_SECONDS = Math.ceil((FINISH_MS + LEASE_TTL_MS + 2 * SWEEP_INTERVAL_MS) / 1000);
const UNNOTICED_SECONDS = 5;
const OUTBOX_SECONDS = 30;

/** What needs work gets it within a sweep. These say something only while the services run. */
export const LIVENESS_ORACLES: Oracle[] = [
  {
    invariant: 'Q-09',
    title: `no run lives longer than ${OVERDUE_SECONDS} s past its deadline`,
    rows: 'runs WHERE ended_at IS NULL',
    violations: `SELECT r.id AS sample FROM runs r WHERE r.ended_at IS NULL AND r.deadline_at < NOW(3) - INTERVAL ${OVERDUE_SECONDS} SECOND`,
    needsServices: true,
  },
  {
    invariant: 'Q-15',
    title: `no run waits longer than ${UNNOTICED_SECONDS} s for calls that are all settled`,
    rows: `runs WHERE status = 'waiting'`,
    violations: `SELECT r.id AS sample FROM runs r WHERE r.status = 'waiting' AND r.waiting_at < NOW(3) - INTERVAL ${UNNOTICED_SECONDS} SECOND AND NOT EXISTS (SELECT 1 FROM tool_calls c
      WHERE c.run_id = r.id AND c.turn = r.turn AND (c.status = 'open' OR c.settled_at >= NOW(3) - INTERVAL ${UNNOTICED_SECONDS} SECOND))`,
    needsServices: true,
  },
  {
    invariant: 'Q-15',
    title: `no lease has lapsed more than ${UNNOTICED_SECONDS} s ago without a new holder`,
    rows: `runs WHERE status = 'running'`,
    violations: `SELECT r.id AS sample FROM runs r WHERE r.status = 'running' AND (r.lease_expires_at IS NULL OR r.lease_expires_at < NOW(3) - INTERVAL ${UNNOTICED_SECONDS} SECOND)
      AND NOT EXISTS (SELECT 1 FROM lease_owners o WHERE o.owner = r.lease_owner AND o.expires_at >= NOW(3) - INTERVAL ${UNNOTICED_SECONDS} SECOND)`,
    needsServices: true,
  },
  {
    invariant: 'Q-15',
    title: `no job stands unsent in the outbox for longer than ${OUTBOX_SECONDS} s`,
    rows: 'outbox',
    violations: `SELECT o.job_id AS sample FROM outbox o WHERE o.created_at < NOW(3) - INTERVAL ${OUTBOX_SECONDS} SECOND`,
    needsServices: true,
  },
  {
    invariant: 'Q-15',
    title: 'a delegation without a job stands behind a sibling that has one',
    rows: `tool_calls WHERE effect = 'delegate' AND status = 'open'`,
    violations: `SELECT c.id AS sample FROM tool_calls c WHERE c.effect = 'delegate' AND c.status = 'open' AND c.delivery = 0
      AND NOT EXISTS (SELECT 1 FROM tool_calls s WHERE s.run_id = c.run_id AND s.turn = c.turn AND s.effect = 'delegate' AND s.status = 'open' AND s.delivery > 0)`,
  },
  {
    invariant: 'Q-09',
    title: `no worker run lives longer than ${UNNOTICED_SECONDS} s after its root run`,
    rows: 'runs WHERE id <> root_run_id',
    violations: `SELECT r.id AS sample FROM runs r JOIN runs root ON root.id = r.root_run_id WHERE r.ended_at IS NULL AND root.ended_at < NOW(3) - INTERVAL ${UNNOTICED_SECONDS} SECOND`,
    needsServices: true,
  },
];
