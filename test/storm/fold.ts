import type { RowDataPacket as Row } from 'mysql2';
import type { Stores } from './stores.ts';

/** Attempts and states that a fault may add or leave out, and running totals that name them. */
const FAULT_DEPENDENT_EVENTS = new Set(['settlement', 'budget_status']);
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const ID = /\b[a-z]{2,8}_[0-9a-v]{26}\b/g;

/**
 * One root run as text that must not depend on faults: times, ids and epochs are gone, lost and failed attempts too; what parallel workers
 * did is told worker by worker. Everything else is in it, word by word.
 */
export async function foldRun(stores: Stores, rootRunId: string, token: string, isCancelled: boolean): Promise<string> {
  const runs = await stores.rows('SELECT * FROM runs WHERE root_run_id = ? ORDER BY COALESCE(worker_number, 0)', [rootRunId]);
  const calls = await stores.rows('SELECT * FROM tool_calls WHERE root_run_id = ? ORDER BY turn, call_index', [rootRunId]);
  const rows = {
    messages: await stores.rows('SELECT m.* FROM messages m JOIN runs r ON r.id = m.run_id WHERE r.root_run_id = ? ORDER BY m.sequence_no', [rootRunId]),
    sources: await stores.rows('SELECT * FROM sources WHERE root_run_id = ?', [rootRunId]),
    entries: await stores.rows('SELECT e.* FROM scratchpad_entries e JOIN runs r ON r.id = e.run_id WHERE r.root_run_id = ? ORDER BY e.sequence_no', [rootRunId]),
    pads: await stores.rows('SELECT p.* FROM scratchpads p JOIN runs r ON r.scratchpad_thread_id = p.thread_id WHERE r.id = ?', [rootRunId]),
    answers: await stores.rows(`SELECT run_id, turn, outcome FROM attempts WHERE root_run_id = ? AND kind = 'message' AND outcome <> 'interrupted' ORDER BY turn`, [rootRunId]),
    charges: await stores.rows(`SELECT run_id, operation, state, charge_microcredits FROM reservations WHERE root_run_id = ? AND operation IN ('search', 'read')`, [rootRunId]),
    events: isCancelled ? [] : await stores.rows('SELECT type, body FROM run_events WHERE root_run_id = ? ORDER BY seq', [rootRunId]),
  };
  const names = namesOf(runs, calls);
  const neutral = (text: string): string => text.replaceAll(token, 'TOKEN').replace(TIME, 'TIME').replace(ID, (id) => names.get(id) ?? 'SOME-ID');
  const parts = runs.map((run) => neutral(JSON.stringify(partOf(run, calls, rows, neutral), null, 1)));
  const pads = neutral(JSON.stringify(rows.pads.map((pad) => pick(pad, ['body', 'revision', 'body_tool_call_id']))));
  return [...parts, pads, ...eventsOf(rows.events).map(neutral).sort()].join('\n');
}

function namesOf(runs: readonly Row[], calls: readonly Row[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const run of runs) names.set(run['id'] as string, `RUN-${String(run['worker_number'] ?? 0)}`);
  for (const call of calls) {
    const place = `${names.get(call['run_id'] as string) ?? '?'}.${String(call['turn'])}.${String(call['call_index'])}`;
    const id = call['id'] as string;
    names.set(id, `CALL-${place}`);
    // a source bears the number of the call that fetched it
    names.set(`src_${id.slice(id.indexOf('_') + 1)}`, `SOURCE-${place}`);
  }
  return names;
}

function partOf(run: Row, calls: readonly Row[], rows: Record<'messages' | 'sources' | 'entries' | 'answers' | 'charges', Row[]>, neutral: (text: string) => string): object {
  const mine = (list: readonly Row[]): Row[] => list.filter((row) => row['run_id'] === run['id']);
  const sorted = (list: readonly object[]): string[] => list.map((item) => neutral(JSON.stringify(item))).sort();
  return {
    run: pick(run, ['role', 'worker_number', 'question', 'status', 'stop_reason', 'limits_hit', 'last_error_code', 'turn', 'sources_read', 'delegations', 'reads_open']),
    report: run['status'] === 'cancelled' ? cancelledReport(run['report'] as string | null) : pick(run, ['report', 'citations']),
    messages: mine(rows.messages).map((row) => pick(row, ['role', 'content', 'reasoning', 'tool_call_id', 'is_error'])),
    answers: mine(rows.answers).map((row) => pick(row, ['turn', 'outcome'])),
    calls: mine(calls).map((row) => ({ ...pick(row, ['turn', 'call_index', 'name', 'arguments', 'effect', 'status', 'error_code']), result: resultOf(row) })),
    sources: sorted(mine(rows.sources).map((row) => pick(row, ['url', 'final_url', 'title', 'media_type', 'body_sha256', 'chars', 'extraction', 'claim_review', 'tool_call_id']))),
    entries: mine(rows.entries).map((row) => pick(row, ['author', 'worker_number', 'tool_call_id', 'kind', 'text'])),
    charges: sorted(mine(rows.charges).map((row) => pick(row, ['operation', 'state', 'charge_microcredits']))),
  };
}

const pick = (row: Row, columns: readonly string[]): object => Object.fromEntries(columns.map((column) => [column, row[column] as unknown]));

/** A cancel that finds the run held ends it with a flagged report, one that finds it waiting without any; which of both is chance. */
const cancelledReport = (report: string | null): string | null => (report === null || report.includes('The run was cancelled.') ? 'NONE OR FLAGGED' : report);

/** How far a run had come when it was cancelled is no promise. */
function resultOf(call: Row): string {
  const text = (call['result'] as string | null) ?? 'null';
  if (call['error_code'] === 'RUN_CANCELLED') return 'RUN_CANCELLED';
  const result = JSON.parse(text) as object | null;
  return call['name'] === 'read_scratchpad' ? unorderedPad((result as { text?: string }).text ?? '') : JSON.stringify(inKeyOrder(result));
}

/** A result that came back from a process of its own holds the same members in another order. */
function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, member]) => [key, inKeyOrder(member)]));
}

/** Notes of parallel workers stand in the pad in the order of their arrival: their texts are a promise, their order is none. */
const unorderedPad = (text: string): string => text.split(/\n+(?=\[\d+\] \()/).map((entry) => entry.replace(/^\[\d+\] /, '')).sort().join(' | ');

/** As a multiset: commits of parallel workers come in any order, and a claim after a death says `running` again. */
function eventsOf(events: readonly Row[]): string[] {
  return events
    .filter((event) => !FAULT_DEPENDENT_EVENTS.has(event['type'] as string))
    .map((event) => JSON.parse(event['body'] as string) as { type: string; status?: string; content?: string })
    .filter(({ type, status }) => type !== 'run_status' || (status !== 'running' && status !== 'waiting'))
    .map((event) => JSON.stringify(event.content === undefined ? event : { ...event, content: unorderedPad(event.content) }));
}
