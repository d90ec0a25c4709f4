import type { Oracle } from './oracle.ts';

const perRoot = (aggregates: string): string => `(SELECT root_run_id, ${aggregates} FROM reservations GROUP BY root_run_id)`;

/** The ledger is never overdrawn and every figure in it is the sum of its parts. */
export const MONEY_ORACLES: Oracle[] = [
  {
    invariant: 'Q-12',
    title: 'no budget is overdrawn',
    rows: 'budgets',
    violations: `SELECT b.root_run_id AS sample FROM budgets b WHERE b.reserved_microcredits + b.spent_microcredits > b.limit_microcredits`,
  },
  {
    invariant: 'Q-12',
    title: 'what a budget holds in reserve is the sum of its open reservations',
    rows: 'budgets',
    violations: `SELECT b.root_run_id AS sample FROM budgets b LEFT JOIN ${perRoot(`SUM(IF(state = 'open', estimate_microcredits, 0)) AS held`)} v
      ON v.root_run_id = b.root_run_id WHERE b.reserved_microcredits <> COALESCE(v.held, 0)`,
  },
  {
    invariant: 'Q-13',
    title: 'what a budget has spent, and overrun, is the sum of its charges',
    rows: 'budgets',
    violations: `SELECT b.root_run_id AS sample FROM budgets b
      LEFT JOIN ${perRoot('SUM(COALESCE(charge_microcredits, 0)) AS charged, SUM(overrun_microcredits) AS overrun')} v ON v.root_run_id = b.root_run_id
      WHERE b.spent_microcredits <> b.carried_microcredits + COALESCE(v.charged, 0) OR b.overrun_microcredits <> COALESCE(v.overrun, 0)`,
  },
  {
    invariant: 'Q-13',
    title: 'a reservation is open, or booked within its estimate; only what exceeds it is an overrun',
    rows: 'reservations',
    violations: `SELECT v.id AS sample FROM reservations v WHERE v.state NOT IN ('open', 'settled', 'unknown', 'reconciled') OR (v.state = 'open') <> (v.charge_microcredits IS NULL)
      OR (v.state = 'open') <> (v.settled_at IS NULL) OR v.charge_microcredits > v.estimate_microcredits
      OR (v.overrun_microcredits > 0 AND (v.charge_microcredits IS NULL OR v.charge_microcredits <> v.estimate_microcredits))`,
  },
  {
    invariant: 'Q-13',
    title: 'a search or read stays spent, whatever became of it; an unknown outcome too, until it is reconciled',
    rows: `reservations WHERE state <> 'open'`,
    violations: `SELECT v.id AS sample FROM reservations v WHERE v.state <> 'reconciled' AND v.charge_microcredits < v.estimate_microcredits AND (v.state = 'unknown' OR v.operation IN ('search', 'read'))`,
  },
  {
    invariant: 'Q-12',
    title: 'a tenant holds and has spent what its runs do, within its quota',
    rows: 'tenant_budgets',
    violations: `SELECT t.tenant_id AS sample FROM tenant_budgets t LEFT JOIN (SELECT tenant_id, SUM(IF(released_at IS NULL, limit_microcredits - carried_microcredits, 0)) AS held,
        SUM(IF(released_at IS NULL, 0, spent_microcredits - carried_microcredits)) AS spent, SUM(IF(released_at IS NULL, 0, overrun_microcredits)) AS overrun
        FROM budgets WHERE imported = 0 GROUP BY tenant_id) b ON b.tenant_id = t.tenant_id
      WHERE t.held_microcredits <> COALESCE(b.held, 0) OR t.spent_microcredits <> COALESCE(b.spent, 0) OR t.overrun_microcredits <> COALESCE(b.overrun, 0)
      OR t.held_microcredits + t.spent_microcredits > t.limit_microcredits`,
  },
  {
    invariant: 'Q-13',
    title: 'a run that has ended has given the rest of its credits back once nothing of it is reserved',
    rows: 'budgets',
    violations: `SELECT b.root_run_id AS sample FROM budgets b JOIN runs r ON r.id = b.root_run_id WHERE (b.released_at IS NOT NULL AND r.ended_at IS NULL)
      OR (b.released_at IS NULL AND r.ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs w WHERE w.root_run_id = r.id AND w.ended_at IS NULL))`,
  },
  {
    invariant: 'Q-13',
    title: 'a successor carries what its predecessor had spent, and no other run carries anything',
    rows: 'budgets',
    violations: `SELECT b.root_run_id AS sample FROM budgets b JOIN runs r ON r.id = b.root_run_id LEFT JOIN budgets p ON p.root_run_id = r.resumed_from
      WHERE b.carried_microcredits <> COALESCE(p.spent_microcredits + p.overrun_microcredits, 0)`,
  },
  {
    invariant: 'Q-13',
    title: 'nothing stays reserved for a run that has ended',
    rows: 'reservations',
    violations: `SELECT v.id AS sample FROM reservations v JOIN runs r ON r.id = v.run_id WHERE v.state = 'open' AND r.ended_at IS NOT NULL`,
  },
  {
    invariant: 'Q-17',
    title: 'reads under way are counted right against the source cap',
    rows: 'runs WHERE id = root_run_id',
    violations: `SELECT r.id AS sample FROM runs r LEFT JOIN ${perRoot(`SUM(state = 'open' AND operation = 'read') AS reads_open`)} v ON v.root_run_id = r.id
      WHERE r.id = r.root_run_id AND r.reads_open <> COALESCE(v.reads_open, 0)`,
  },
  {
    invariant: 'Q-02',
    title: 'no effect was reserved twice, and a call holds its own reservation',
    rows: 'reservations',
    violations: `SELECT MAX(v.id) AS sample FROM reservations v GROUP BY v.effect_key HAVING COUNT(*) > 1
      UNION ALL SELECT c.id AS sample FROM tool_calls c LEFT JOIN reservations v ON v.id = c.reservation_id
      WHERE c.reservation_id IS NOT NULL AND (v.id IS NULL OR v.run_id <> c.run_id OR v.effect_key <> CONCAT('tool:', c.id))`,
  },
  {
    invariant: 'Q-18',
    title: 'nothing was paid for that was reserved later than 3 s after a cancel',
    rows: 'reservations v JOIN runs root ON root.id = v.root_run_id WHERE root.cancel_requested_at IS NOT NULL',
    violations: `SELECT v.id AS sample FROM reservations v JOIN runs root ON root.id = v.root_run_id
      WHERE v.created_at > root.cancel_requested_at + INTERVAL 3 SECOND AND v.charge_microcredits > 0`,
  },
];
