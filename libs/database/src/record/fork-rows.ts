import { QuaestorError, type RunId } from '#contracts';
import type { Row } from '../sql.ts';
import type { TreeRows } from './tree-rows.ts';

/** What a fork is to have of its own. */
export interface ForkShape {
  /** The first turn that is asked for anew, from 1; everything before it is taken over. */
  fromTurn: number;
  budgetMicrocredits: number;
  deadlineAt: Date;
  now: Date;
}

/**
 * The part of a tree that a fork from `fromTurn` takes over, still under the old ids: the question, the root run's whole turns before it, the
 * worker runs those turns delegated to, with what all of them read and noted, and a root run that waits to be claimed. Money starts anew:
 * what is taken over is paid for and costs nothing here.
 * @throws QuaestorError `INVALID_REQUEST` for a turn the run has not come to, or that follows its answer
 */
export function forkedRows(rows: TreeRows, rootRunId: RunId, shape: ForkShape): TreeRows {
  const root = rows.runs.find(({ id }) => id === rootRunId);
  if (!root) throw new Error(`run ${rootRunId} is not in its own tree`);
  if (root.resumed_from !== null) throw new QuaestorError('INVALID_REQUEST', `This run continues ${root.resumed_from}: only the first run of such a chain can be forked.`);
  const lastTurn = shape.fromTurn - 1;
  const rootCalls = rows.tool_calls.filter(({ run_id, turn }) => run_id === rootRunId && turn <= lastTurn);
  checkTurns(rows, rootRunId, rootCalls, shape.fromTurn);
  const callIds = new Set(rootCalls.map(({ id }) => id as string));
  const workers = rows.runs.filter(({ parent_tool_call_id }) => callIds.has(parent_tool_call_id as string));
  const workerIds = new Set(workers.map(({ id }) => id as string));
  const attempts = rows.attempts.filter(({ run_id, turn }) => workerIds.has(run_id as string) || (run_id === rootRunId && turn <= lastTurn));
  const calls = rows.tool_calls.filter(({ id, run_id }) => callIds.has(id as string) || workerIds.has(run_id as string));
  const kept = { attempts: idsOf(attempts), calls: idsOf(calls) };
  const sources = rows.sources.filter(({ tool_call_id }) => kept.calls.has(tool_call_id as string));
  const runs = [forkedRoot(root, shape, { delegations: workers.length, sources: sources.length }), ...workers];
  const threads = new Set(runs.map(({ thread_id }) => thread_id as string));
  return {
    runs,
    assistants: [],
    threads: rows.threads.filter(({ id }) => threads.has(id as string)),
    messages: rows.messages.filter(({ run_id, role, attempt_id, tool_call_id }) => workerIds.has(run_id as string) || (role === 'user' ? run_id === rootRunId : kept.attempts.has(attempt_id as string) || kept.calls.has(tool_call_id as string))),
    // the prompts of the taken-over turns were those of the other run
    attempts: attempts.map((row) => (row.run_id === rootRunId ? ({ ...row, prompt_sha256: null } as Row) : row)),
    tool_calls: calls,
    scratchpads: rows.scratchpads.filter(({ thread_id }) => thread_id === root.thread_id).map((pad) => padAt(pad, rootCalls)),
    scratchpad_entries: rows.scratchpad_entries.filter(({ tool_call_id }) => kept.calls.has(tool_call_id as string)),
    sources,
    budgets: rows.budgets.map((budget) => ({ ...budget, limit_microcredits: shape.budgetMicrocredits, reserved_microcredits: 0, spent_microcredits: 0, overrun_microcredits: 0, carried_microcredits: 0, forecast_microcredits: 0, released_at: null, imported: 0 }) as Row),
    reservations: paidReservations(rows, attempts, calls),
    run_events: [],
  };
}

const idsOf = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id as string));

function checkTurns(rows: TreeRows, rootRunId: RunId, calls: readonly Row[], fromTurn: number): void {
  const refuse = (message: string) => new QuaestorError('INVALID_REQUEST', message, { details: { param: 'from_turn' } });
  const answered = new Set(rows.messages.filter(({ run_id, role }) => run_id === rootRunId && role === 'tool').map(({ tool_call_id }) => tool_call_id as string));
  for (let turn = 1; turn < fromTurn; turn++) {
    const ofTurn = calls.filter((call) => call.turn === turn);
    if (ofTurn.length === 0) throw refuse(`from_turn: this run has no whole turn ${turn} with calls to go on from.`);
    if (ofTurn.some(({ id }) => !answered.has(id as string))) throw refuse(`from_turn: turn ${turn} of this run is not over.`);
  }
}

const forkedRoot = (root: Row, { fromTurn, deadlineAt, now }: ForkShape, counts: { delegations: number; sources: number }): Row =>
  ({
    ...root,
    status: 'queued', stop_reason: null, limits_hit: '', report: null, citations: null, last_error_code: null, last_error_message: null,
    turn: fromTurn - 1, sources_read: counts.sources, reads_open: 0, delegations: counts.delegations,
    lease_owner: null, lease_epoch: 0, lease_expires_at: null, wake_number: 0, event_seq: 0, active_thread_id: root.thread_id,
    resumed_from: null, forked_from: root.id, forked_turn: fromTurn - 1,
    deadline_at: deadlineAt, cancel_requested_at: null, created_at: now, sent_at: now, started_at: null, waiting_at: null, failed_at: null, ended_at: null,
  }) as Row;

/** The plan as it stood after the taken-over turns: only the root run overwrites it, and its calls say with what. */
function padAt(pad: Row, rootCalls: readonly Row[]): Row {
  const updates = rootCalls.filter(({ name, status }) => name === 'update_scratchpad' && status === 'succeeded');
  const last = updates.at(-1);
  const body = last ? (JSON.parse(last.arguments as string) as { content: string }).content.trim() : '';
  return { ...pad, body, revision: updates.length, body_tool_call_id: last?.id ?? null } as Row;
}

/** Those behind what is taken over, at no charge: each attempt and each paid call keeps the reservation made before it. */
function paidReservations(rows: TreeRows, attempts: readonly Row[], calls: readonly Row[]): Row[] {
  const effects = new Set([...attempts.map((row) => `model:${row.run_id}:${row.turn}:${row.attempt}`), ...calls.map(({ id }) => `tool:${id}`)]);
  return rows.reservations.filter(({ effect_key }) => effects.has(effect_key as string)).map((row) => ({ ...row, state: 'settled', estimate_microcredits: 0, charge_microcredits: 0, overrun_microcredits: 0, settled_at: row.settled_at ?? row.created_at }) as Row);
}
