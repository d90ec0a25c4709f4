import { DELEGATIONS_PER_RUN_MAX, STOP_REASONS } from '#contracts';
import { ENDED, jsonField, type Oracle } from './oracle.ts';

const statusOfReason = Object.entries(STOP_REASONS).map(([reason, { status }]) => `WHEN '${reason}' THEN '${status}'`).join(' ');

/** A run ends once, says why, and its events tell the same story. */
export const RUN_ORACLES: Oracle[] = [
  {
    invariant: 'Q-08',
    title: 'an ended run has a stop reason and an end, a living one neither',
    rows: 'runs',
    violations: `SELECT r.id AS sample FROM runs r WHERE (r.status IN (${ENDED})) <> (r.ended_at IS NOT NULL) OR (r.status IN (${ENDED})) <> (r.stop_reason IS NOT NULL)
      OR (r.status = 'failed') <> (r.failed_at IS NOT NULL)`,
  },
  {
    invariant: 'Q-08',
    title: 'the status of an ended run is the one its stop reason stands for',
    rows: 'runs WHERE ended_at IS NOT NULL',
    violations: `SELECT CONCAT(r.id, ' ', r.status, ' ', r.stop_reason) AS sample FROM runs r
      WHERE r.stop_reason IS NOT NULL AND r.status <> COALESCE(CASE r.stop_reason ${statusOfReason} END, '')`,
  },
  {
    invariant: 'Q-08',
    title: 'an ended run holds no lease and no thread',
    rows: 'runs WHERE ended_at IS NOT NULL',
    violations: `SELECT r.id AS sample FROM runs r WHERE r.status IN (${ENDED})
      AND (r.lease_owner IS NOT NULL OR r.lease_expires_at IS NOT NULL OR r.active_thread_id IS NOT NULL)`,
  },
  {
    invariant: 'Q-08',
    title: 'a root run announces its end once, as its last status, and as the row says',
    rows: 'runs WHERE id = root_run_id',
    violations: `SELECT r.id AS sample FROM runs r LEFT JOIN (
        SELECT s.root_run_id, SUM(s.status IN (${ENDED})) AS ends, MAX(s.seq) AS last_seq, MAX(IF(s.status IN (${ENDED}), s.seq, 0)) AS end_seq,
          MAX(IF(s.status IN (${ENDED}), s.status, NULL)) AS end_status
        FROM (SELECT root_run_id, seq, ${jsonField('body', 'status')} AS status FROM run_events WHERE type = 'run_status') s GROUP BY s.root_run_id) e
        ON e.root_run_id = r.id
      WHERE r.id = r.root_run_id AND IF(r.ended_at IS NULL, COALESCE(e.ends, 0) <> 0, COALESCE(e.ends, 0) <> 1 OR e.last_seq <> e.end_seq OR e.end_status <> r.status)`,
  },
  {
    invariant: 'Q-19',
    title: 'events of a root run are numbered from 1 without a hole',
    rows: 'run_events',
    violations: `SELECT r.id AS sample FROM runs r LEFT JOIN
        (SELECT root_run_id, COUNT(*) AS events, MIN(seq) AS first_seq, MAX(seq) AS last_seq FROM run_events GROUP BY root_run_id) e ON e.root_run_id = r.id
      WHERE r.id = r.root_run_id AND (r.event_seq <> COALESCE(e.events, 0) OR r.event_seq <> COALESCE(e.last_seq, 0) OR (r.event_seq > 0 AND e.first_seq <> 1))`,
  },
  {
    invariant: 'Q-36',
    title: 'every stored event can be read',
    rows: 'run_events',
    violations: `SELECT CONCAT(v.root_run_id, ' ', v.seq) AS sample FROM run_events v WHERE NOT JSON_VALID(v.body)`,
  },
  {
    invariant: 'Q-17',
    title: 'no run took more turns than it may; only a stopped root run has one more, for its report',
    rows: 'runs',
    violations: `SELECT r.id AS sample FROM runs r WHERE r.turn > r.turns_max + (r.role = 'supervisor')
      UNION ALL SELECT a.id AS sample FROM attempts a JOIN runs r ON r.id = a.run_id WHERE a.turn > r.turns_max + (r.role = 'supervisor')`,
  },
  {
    invariant: 'Q-17',
    title: 'a run made no more delegations and read no more sources than it may, and counted them right',
    rows: 'runs WHERE id = root_run_id',
    violations: `SELECT r.id AS sample FROM runs r LEFT JOIN (SELECT root_run_id, COUNT(*) AS workers FROM runs WHERE id <> root_run_id GROUP BY root_run_id) w ON w.root_run_id = r.id
      WHERE r.id = r.root_run_id AND (r.delegations <> COALESCE(w.workers, 0) OR r.delegations > ${DELEGATIONS_PER_RUN_MAX} OR r.sources_read > r.source_cap)`,
  },
  {
    invariant: 'Q-35',
    title: 'the turn of a run never fell behind what it settled',
    rows: `attempts WHERE kind = 'message'`,
    violations: `SELECT a.id AS sample FROM attempts a JOIN runs r ON r.id = a.run_id WHERE a.kind = 'message' AND a.outcome <> 'interrupted' AND a.turn > r.turn`,
  },
  {
    invariant: 'Q-25',
    title: 'an idempotency key names a run of its own tenant',
    rows: 'idempotency_keys',
    violations: `SELECT k.run_id AS sample FROM idempotency_keys k LEFT JOIN runs r ON r.id = k.run_id WHERE r.id IS NULL OR r.tenant_id <> k.tenant_id`,
  },
];
