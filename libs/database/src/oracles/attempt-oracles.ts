import type { Oracle } from './oracle.ts';

/** An answer that people may see, but no model, has no message row. */
const MODEL_VISIBLE = `(a.kind = 'message' AND a.outcome <> 'interrupted')`;

/** Each model attempt settles once, and only usable ones enter a conversation. */
export const ATTEMPT_ORACLES: Oracle[] = [
  {
    invariant: 'Q-06',
    title: 'no model attempt settled twice',
    rows: 'attempts',
    violations: `SELECT CONCAT(a.run_id, ' ', a.turn, '.', a.attempt) AS sample FROM attempts a GROUP BY a.run_id, a.turn, a.attempt HAVING COUNT(*) > 1`,
  },
  {
    invariant: 'Q-06',
    title: 'a usable attempt has one message, any other has none',
    rows: 'attempts',
    violations: `SELECT a.id AS sample FROM attempts a LEFT JOIN messages m ON m.attempt_id = a.id
      GROUP BY a.id, a.kind, a.outcome HAVING COUNT(m.sequence_no) <> ${MODEL_VISIBLE}`,
  },
  {
    invariant: 'Q-06',
    title: 'every answer in a conversation has its attempt, in the same run',
    rows: `messages WHERE role = 'assistant'`,
    violations: `SELECT CONCAT(m.thread_id, ' ', m.sequence_no) AS sample FROM messages m LEFT JOIN attempts a ON a.id = m.attempt_id
      WHERE m.role = 'assistant' AND (a.id IS NULL OR a.run_id <> m.run_id)`,
  },
  {
    invariant: 'Q-05',
    title: 'no call comes from a failed, cut or lost attempt',
    rows: 'tool_calls',
    violations: `SELECT c.id AS sample FROM tool_calls c LEFT JOIN attempts a ON a.id = c.attempt_id
      WHERE a.id IS NULL OR NOT ${MODEL_VISIBLE} OR a.run_id <> c.run_id OR a.turn <> c.turn`,
  },
  {
    invariant: 'Q-12',
    title: 'every model attempt was paid for from a reservation made before it',
    rows: 'attempts',
    violations: `SELECT a.id AS sample FROM attempts a LEFT JOIN reservations v ON v.effect_key = CONCAT('model:', a.run_id, ':', a.turn, ':', a.attempt)
      LEFT JOIN reservations f ON f.effect_key = CONCAT('finish:', a.run_id, ':', a.turn, ':', a.attempt) WHERE (v.id IS NULL OR v.state = 'open') AND (f.id IS NULL OR f.state = 'open')`,
  },
];
