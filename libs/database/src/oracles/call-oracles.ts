import { DEATHS_MAX } from '#domain';
import type { Oracle } from './oracle.ts';
import { jsonField } from './oracle.ts';

const KINDS = `'text', 'hits', 'page', 'matches', 'delegation', 'error'`;

/** Each call has one result, in its place, and the two agree. */
export const CALL_ORACLES: Oracle[] = [
  {
    invariant: 'Q-01',
    title: 'every call of an ended run has a result',
    rows: 'tool_calls',
    violations: `SELECT c.id AS sample FROM tool_calls c JOIN runs r ON r.id = c.run_id
      WHERE r.ended_at IS NOT NULL AND (c.status = 'open' OR c.result IS NULL)`,
  },
  {
    invariant: 'Q-01',
    title: 'every call of an ended run has one tool message, and no call has two',
    rows: 'tool_calls',
    violations: `SELECT c.id AS sample FROM tool_calls c JOIN runs r ON r.id = c.run_id LEFT JOIN messages m ON m.tool_call_id = c.id
      GROUP BY c.id, r.ended_at HAVING COUNT(m.sequence_no) > 1 OR (r.ended_at IS NOT NULL AND COUNT(m.sequence_no) = 0)`,
  },
  {
    invariant: 'Q-01',
    title: 'every tool message answers a settled call',
    rows: `messages WHERE role = 'tool'`,
    violations: `SELECT CONCAT(m.thread_id, ' ', m.sequence_no) AS sample FROM messages m LEFT JOIN tool_calls c ON c.id = m.tool_call_id
      WHERE m.role = 'tool' AND (c.id IS NULL OR c.status = 'open')`,
  },
  {
    invariant: 'Q-02',
    title: 'a call is open or settled with its result, never half of it',
    rows: 'tool_calls',
    violations: `SELECT c.id AS sample FROM tool_calls c WHERE (c.status = 'open') <> (c.result IS NULL) OR (c.status = 'open') <> (c.settled_at IS NULL)`,
  },
  {
    invariant: 'Q-02',
    title: 'status, error code and message of a call agree with its stored result',
    rows: `tool_calls WHERE status <> 'open'`,
    violations: `SELECT c.id AS sample FROM tool_calls c LEFT JOIN messages m ON m.tool_call_id = c.id WHERE c.status <> 'open'
      AND ((COALESCE(${jsonField('c.result', 'kind')}, '') = 'error') <> (c.status <> 'succeeded') OR (c.error_code IS NULL) <> (c.status = 'succeeded')
      OR (m.tool_call_id IS NOT NULL AND m.is_error <> (c.status <> 'succeeded')))`,
  },
  {
    invariant: 'Q-16',
    title: 'deaths count for calls that execute in the process of their run, and the third ends the call',
    rows: 'tool_calls',
    violations: `SELECT c.id AS sample FROM tool_calls c WHERE c.deaths > ${DEATHS_MAX} OR (c.deaths = ${DEATHS_MAX}) <> (COALESCE(c.error_code, '') = 'TOOL_KILLED_PROCESS')
      OR (c.deaths > 0 AND c.effect NOT IN ('read', 'scratchpad-read'))`,
  },
  {
    invariant: 'Q-36',
    title: 'every stored result can be read',
    rows: 'tool_calls WHERE result IS NOT NULL',
    violations: `SELECT c.id AS sample FROM tool_calls c WHERE c.result IS NOT NULL AND COALESCE(${jsonField('c.result', 'kind')}, '') NOT IN (${KINDS})`,
  },
  {
    invariant: 'Q-11',
    title: 'results stand right behind the answer that asked for them, in its thread',
    rows: `messages WHERE role = 'tool'`,
    violations: `WITH grouped AS (SELECT m.thread_id, m.sequence_no, m.role, m.attempt_id, m.tool_call_id,
        SUM(m.role <> 'tool') OVER (PARTITION BY m.thread_id ORDER BY m.sequence_no) AS group_no FROM messages m)
      SELECT t.tool_call_id AS sample FROM grouped t JOIN tool_calls c ON c.id = t.tool_call_id LEFT JOIN grouped a ON a.attempt_id = c.attempt_id
      WHERE t.role = 'tool' AND (a.thread_id IS NULL OR a.thread_id <> t.thread_id OR a.group_no <> t.group_no)`,
  },
  {
    invariant: 'Q-11',
    title: 'tool messages stand in the order of their calls',
    rows: `messages WHERE role = 'tool'`,
    violations: `SELECT o.tool_call_id AS sample FROM (SELECT m.tool_call_id, m.sequence_no,
        LAG(m.sequence_no) OVER (PARTITION BY c.attempt_id ORDER BY c.call_index) AS previous FROM messages m JOIN tool_calls c ON c.id = m.tool_call_id) o
      WHERE o.previous > o.sequence_no`,
  },
  {
    invariant: 'Q-01',
    title: 'every delegation that was accepted has its worker run, and the reverse',
    rows: 'runs WHERE parent_tool_call_id IS NOT NULL',
    violations: `SELECT c.id AS sample FROM tool_calls c LEFT JOIN runs r ON r.parent_tool_call_id = c.id
      WHERE c.effect = 'delegate' AND c.status <> 'refused' AND (r.id IS NULL OR c.child_run_id IS NULL OR c.child_run_id <> r.id)
      UNION ALL SELECT r.id AS sample FROM runs r LEFT JOIN tool_calls c ON c.id = r.parent_tool_call_id
      WHERE r.parent_tool_call_id IS NOT NULL AND (c.id IS NULL OR c.run_id <> r.parent_run_id OR c.root_run_id <> r.root_run_id OR c.effect <> 'delegate')`,
  },
  {
    invariant: 'Q-05',
    title: 'a delegation succeeds only if its worker run completed, and fails with it',
    rows: 'runs WHERE parent_tool_call_id IS NOT NULL AND ended_at IS NOT NULL',
    violations: `SELECT c.id AS sample FROM tool_calls c JOIN runs r ON r.parent_tool_call_id = c.id JOIN runs parent ON parent.id = c.run_id
      WHERE (c.status = 'succeeded' AND r.status <> 'completed') OR (r.ended_at IS NOT NULL AND c.status = 'open')
      OR (r.status = 'completed' AND c.status <> 'succeeded' AND NOT (parent.ended_at IS NOT NULL AND c.status IN ('cancelled', 'unknown')))`,
  },
];
