import type { Oracle } from './oracle.ts';

const OWNED_BY_RUN = ['messages', 'tool_calls', 'attempts', 'reservations', 'scratchpad_entries', 'sources'];
const OWNED_BY_ROOT = ['budgets', 'run_events'];
const NAMING_ROOT = ['tool_calls', 'attempts', 'reservations', 'sources'];

const foreignTenants = [
  ...OWNED_BY_RUN.map((table) => `SELECT DISTINCT CONCAT('${table} ', t.run_id) AS sample FROM ${table} t LEFT JOIN runs r ON r.id = t.run_id WHERE r.id IS NULL OR r.tenant_id <> t.tenant_id`),
  ...OWNED_BY_ROOT.map((table) => `SELECT DISTINCT CONCAT('${table} ', t.root_run_id) AS sample FROM ${table} t LEFT JOIN runs r ON r.id = t.root_run_id WHERE r.id IS NULL OR r.tenant_id <> t.tenant_id`),
  `SELECT r.id AS sample FROM runs r LEFT JOIN runs root ON root.id = r.root_run_id WHERE root.id IS NULL OR root.tenant_id <> r.tenant_id`,
  `SELECT r.id AS sample FROM runs r LEFT JOIN threads t ON t.id = r.thread_id WHERE t.id IS NULL OR t.tenant_id <> r.tenant_id`,
  `SELECT r.id AS sample FROM runs r LEFT JOIN scratchpads p ON p.thread_id = r.scratchpad_thread_id WHERE p.thread_id IS NULL OR p.tenant_id <> r.tenant_id`,
];

/** Everything is where it belongs: results in the caller's thread, notes on the run's scratchpad, rows with their tenant. */
export const PLACE_ORACLES: Oracle[] = [
  {
    invariant: 'Q-21',
    title: `tool results are in the caller's own conversation, and nowhere else`,
    rows: `messages WHERE role = 'tool'`,
    violations: `SELECT m.tool_call_id AS sample FROM messages m JOIN tool_calls c ON c.id = m.tool_call_id JOIN runs r ON r.id = c.run_id
      WHERE m.thread_id <> r.thread_id OR m.run_id <> c.run_id`,
  },
  {
    invariant: 'Q-21',
    title: 'messages are in the thread of their run',
    rows: 'messages',
    violations: `SELECT CONCAT(m.thread_id, ' ', m.sequence_no) AS sample FROM messages m JOIN runs r ON r.id = m.run_id WHERE m.thread_id <> r.thread_id`,
  },
  {
    invariant: 'Q-21',
    title: `all runs of a tree share the root run's scratchpad, and each has a conversation of its own`,
    rows: 'runs',
    violations: `SELECT r.id AS sample FROM runs r JOIN runs root ON root.id = r.root_run_id
      WHERE r.scratchpad_thread_id <> root.thread_id OR (r.id <> root.id AND (r.thread_id = root.thread_id OR r.parent_run_id IS NULL))`,
  },
  {
    invariant: 'Q-21',
    title: `entries are on the scratchpad of their author's run`,
    rows: 'scratchpad_entries',
    violations: `SELECT e.tool_call_id AS sample FROM scratchpad_entries e JOIN runs r ON r.id = e.run_id WHERE e.thread_id <> r.scratchpad_thread_id OR e.author <> r.role`,
  },
  {
    invariant: 'Q-21',
    title: 'rows name the root run of their run',
    rows: 'tool_calls',
    violations: NAMING_ROOT.map((table) => `SELECT t.id AS sample FROM ${table} t JOIN runs r ON r.id = t.run_id WHERE t.root_run_id <> r.root_run_id`).join(' UNION ALL '),
  },
  {
    invariant: 'Q-22',
    title: 'every entry was promoted by one call that succeeded',
    rows: 'scratchpad_entries',
    violations: `SELECT e.tool_call_id AS sample FROM scratchpad_entries e LEFT JOIN tool_calls c ON c.id = e.tool_call_id
      WHERE c.id IS NULL OR c.status <> 'succeeded' OR c.run_id <> e.run_id OR c.effect <> 'scratchpad-write'
      UNION ALL SELECT e.tool_call_id AS sample FROM scratchpad_entries e GROUP BY e.tool_call_id HAVING COUNT(*) > 1`,
  },
  {
    invariant: 'Q-22',
    title: 'every note that was accepted is an entry or the body',
    rows: `tool_calls WHERE effect = 'scratchpad-write' AND status = 'succeeded'`,
    violations: `SELECT c.id AS sample FROM tool_calls c LEFT JOIN scratchpad_entries e ON e.tool_call_id = c.id
      WHERE c.effect = 'scratchpad-write' AND c.name = 'append_scratchpad' AND c.status = 'succeeded' AND e.tool_call_id IS NULL`,
  },
  {
    invariant: 'Q-26',
    title: 'every row belongs to the tenant of its run',
    rows: 'runs',
    violations: foreignTenants.join(' UNION ALL '),
  },
];
