import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptId, RunId } from '#contracts';
import { compressText } from '../compress.ts';
import { JournalWorld, credits, ending, finishReservation, mint, modelReservation, newSourceId, noteCall, paidCall, settledCall, settlement, workerAnswer } from '../spec-support/journal-world.ts';
import { ScratchpadWriteRepository } from '../repositories/scratchpad.repository.ts';
import { runOracles, type OracleReport } from './run-all.ts';

const TEXT = 'A lease is a right that ends by itself. – 日本';
const QUOTE = 'a right that ends by itself';

let world: JournalWorld;
let rootRunId: RunId;
let workerRunId: RunId;

const failing = (reports: OracleReport[]) => reports.filter((report) => report.violations > 0).map(({ invariant, title, sample }) => `${invariant} ${title}: ${sample.join(', ')}`);
const page = { url: 'https://example.org/', finalUrl: 'https://example.org/', title: 'Leases', mediaType: 'text/html', text: TEXT, bodySha256: createHash('sha256').update(TEXT).digest('hex'), extraction: 'test' };

/** A whole run through the journal: a delegation, its read and note, the report. Every oracle has rows to look at. */
async function playRun(): Promise<void> {
  const { runId, calls, workers } = await world.waitingRun(1);
  [rootRunId, workerRunId] = [runId, workers[0]!];
  const attemptId = mint<AttemptId>('att');
  const worker = await world.settledRun(workerRunId, { turn: 1, attemptId, calls: [noteCall(attemptId, 0), paidCall(attemptId, 1, 'read'), paidCall(attemptId, 2, 'search')] });
  await new ScratchpadWriteRepository(world.sql).settle(worker.settled.calls[0]!.toolCallId, { operation: 'append', text: 'Leases end by themselves.' });
  const [note, read, search] = worker.settled.calls;
  const sourceId = newSourceId();
  const closed = await world.journal.closeTurn(worker.fence, {
    settled: [settledCall(read!.toolCallId, read!.reservation, { id: sourceId, page }), settledCall(search!.toolCallId, search!.reservation)],
    close: { toolCallIds: [note!.toolCallId, read!.toolCallId, search!.toolCallId] },
    nextReservation: modelReservation(workerRunId, 2),
  });
  await world.journal.endRun(worker.fence, settlement({ turn: 2, charge: { reservation: closed.nextReservation!, charge: credits(3) } }), workerAnswer(workerRunId));
  const root = await world.claim(runId, [finishReservation(runId)]);
  const turn = await world.journal.closeTurn(root.fence, { settled: [], close: { toolCallIds: calls }, nextReservation: modelReservation(runId, 2) });
  const start = TEXT.indexOf(QUOTE);
  const citations = JSON.stringify([{ sourceId, number: 1, quotes: [{ quote: QUOTE, start, end: start + QUOTE.length }] }]);
  await world.journal.endRun(root.fence, settlement({ turn: 2, charge: { reservation: turn.nextReservation!, charge: credits(1) } }), { ...ending('answered'), citations });
  await world.sql.change('DELETE FROM outbox');
}

beforeAll(async () => {
  world = await JournalWorld.open();
  await playRun();
});
afterAll(() => world?.close());

describe('runOracles', () => {
  it('finds nothing wrong with a run that went well, and has looked at rows', async () => {
    const reports = await runOracles(world.database.url);
    expect(failing(reports)).toEqual([]);
    const blind = reports.filter((report) => report.rows === 0).map((report) => report.title);
    // a run that has ended leaves nothing to wait for, nothing unsent and nothing cancelled
    expect(blind.filter((title) => !/cancel|longer|lease has lapsed|idempotency|without a job/.test(title))).toEqual([]);
  });

  it('leaves out what only running services can keep when they are stopped', async () => {
    const lively = await runOracles(world.database.url);
    const atRest = await runOracles(world.database.url, { atRest: true });
    expect(lively.length - atRest.length).toBe(5);
  });

  const call = '(SELECT * FROM (SELECT id FROM tool_calls WHERE run_id = ? LIMIT 1) first_call)';
  /** One corruption each, the statement that undoes it, and the promise that must notice it. */
  const damages: [string, string, () => { sql: string; undo: string; values: string[] }][] = [
    ['Q-01', 'a call without result', () => ({ sql: `UPDATE tool_calls SET status = 'open' WHERE run_id = ? AND effect = 'delegate'`, undo: `UPDATE tool_calls SET status = 'succeeded' WHERE run_id = ? AND effect = 'delegate'`, values: [rootRunId] })],
    ['Q-01', 'a lost tool message', () => ({ sql: `UPDATE messages SET role = 'user', tool_call_id = CONCAT(tool_call_id, 'x') WHERE run_id = ? AND role = 'tool'`, undo: `UPDATE messages SET role = 'tool', tool_call_id = TRIM(TRAILING 'x' FROM tool_call_id) WHERE run_id = ? AND tool_call_id LIKE '%x'`, values: [rootRunId] })],
    ['Q-01', 'a result without a call', () => ({ sql: `UPDATE messages SET tool_call_id = CONCAT(tool_call_id, 'x') WHERE run_id = ? AND role = 'tool'`, undo: `UPDATE messages SET tool_call_id = TRIM(TRAILING 'x' FROM tool_call_id) WHERE run_id = ? AND role = 'tool'`, values: [rootRunId] })],
    ['Q-01', 'a worker run without its call', () => ({ sql: `UPDATE tool_calls SET child_run_id = NULL WHERE run_id = ?`, undo: `UPDATE tool_calls SET child_run_id = (SELECT r.id FROM runs r WHERE r.parent_tool_call_id = tool_calls.id) WHERE run_id = ?`, values: [rootRunId] })],
    ['Q-02', 'a success that holds an error', () => ({ sql: `UPDATE tool_calls SET status = 'failed' WHERE run_id = ? AND effect = 'delegate'`, undo: `UPDATE tool_calls SET status = 'succeeded' WHERE run_id = ? AND effect = 'delegate'`, values: [rootRunId] })],
    ['Q-02', `a call with another call's reservation`, () => ({ sql: `UPDATE reservations SET effect_key = CONCAT(effect_key, 'x') WHERE run_id = ? AND operation = 'read'`, undo: `UPDATE reservations SET effect_key = TRIM(TRAILING 'x' FROM effect_key) WHERE run_id = ? AND operation = 'read'`, values: [workerRunId] })],
    ['Q-05', 'a failed worker whose delegation succeeded', () => ({ sql: `UPDATE runs SET status = 'incomplete' WHERE id = ?`, undo: `UPDATE runs SET status = 'completed' WHERE id = ?`, values: [workerRunId] })],
    ['Q-05', 'a call out of a failed attempt', () => ({ sql: `UPDATE attempts SET kind = 'attempt' WHERE run_id = ? AND turn = 1`, undo: `UPDATE attempts SET kind = 'message' WHERE run_id = ? AND turn = 1`, values: [workerRunId] })],
    ['Q-06', 'a message without its attempt', () => ({ sql: `UPDATE messages SET attempt_id = CONCAT(attempt_id, 'x') WHERE run_id = ? AND role = 'assistant'`, undo: `UPDATE messages SET attempt_id = TRIM(TRAILING 'x' FROM attempt_id) WHERE run_id = ? AND role = 'assistant'`, values: [workerRunId] })],
    ['Q-06', 'an answer that its stream does not give', () => ({ sql: `UPDATE messages SET content = CONCAT(content, '!') WHERE run_id = ? AND role = 'assistant'`, undo: `UPDATE messages SET content = TRIM(TRAILING '!' FROM content) WHERE run_id = ? AND role = 'assistant'`, values: [workerRunId] })],
    ['Q-06', 'a usage that its stream does not give', () => ({ sql: 'UPDATE attempts SET output_tokens = output_tokens + 1 WHERE run_id = ? AND stream IS NOT NULL', undo: 'UPDATE attempts SET output_tokens = output_tokens - 1 WHERE run_id = ? AND stream IS NOT NULL', values: [workerRunId] })],
    ['Q-08', 'a lease of an ended run', () => ({ sql: `UPDATE runs SET lease_owner = 'x' WHERE id = ?`, undo: `UPDATE runs SET lease_owner = NULL WHERE id = ?`, values: [rootRunId] })],
    ['Q-08', 'an end without reason', () => ({ sql: `UPDATE runs SET stop_reason = NULL WHERE id = ?`, undo: `UPDATE runs SET stop_reason = 'answered' WHERE id = ?`, values: [rootRunId] })],
    ['Q-08', 'a reason that does not fit', () => ({ sql: `UPDATE runs SET stop_reason = 'cancelled' WHERE id = ?`, undo: `UPDATE runs SET stop_reason = 'answered' WHERE id = ?`, values: [rootRunId] })],
    ['Q-08', 'two ends', () => ({ sql: `UPDATE run_events SET body = '{"status":"completed"}' WHERE root_run_id = ? AND seq = 1`, undo: `UPDATE run_events SET body = '{"status":"queued"}' WHERE root_run_id = ? AND seq = 1`, values: [rootRunId] })],
    ['Q-09', 'a run past its deadline', () => ({ sql: `UPDATE runs SET ended_at = NULL, deadline_at = NOW(3) - INTERVAL 1 HOUR WHERE id = ?`, undo: `UPDATE runs SET ended_at = NOW(3), deadline_at = NOW(3) + INTERVAL 1 HOUR WHERE id = ?`, values: [workerRunId] })],
    ['Q-11', 'results out of order', () => ({ sql: `UPDATE tool_calls SET call_index = 10 - call_index WHERE run_id = ?`, undo: `UPDATE tool_calls SET call_index = 10 - call_index WHERE run_id = ?`, values: [workerRunId] })],
    ['Q-11', 'a result behind the wrong answer', () => ({ sql: `UPDATE messages SET sequence_no = sequence_no + 100000 WHERE run_id = ? AND role = 'tool' ORDER BY sequence_no DESC LIMIT 1`, undo: `UPDATE messages SET sequence_no = sequence_no - 100000 WHERE run_id = ? AND sequence_no > 100000`, values: [workerRunId] })],
    ['Q-12', 'a wrong reserve', () => ({ sql: `UPDATE budgets SET reserved_microcredits = reserved_microcredits + 1 WHERE root_run_id = ?`, undo: `UPDATE budgets SET reserved_microcredits = reserved_microcredits - 1 WHERE root_run_id = ?`, values: [rootRunId] })],
    ['Q-12', 'an attempt nobody paid for', () => ({ sql: `UPDATE reservations SET effect_key = CONCAT(effect_key, '9') WHERE run_id = ? AND operation = 'model'`, undo: `UPDATE reservations SET effect_key = LEFT(effect_key, LENGTH(effect_key) - 1) WHERE run_id = ? AND operation = 'model'`, values: [workerRunId] })],
    ['Q-12', 'a hold nobody took', () => ({ sql: `UPDATE tenant_budgets t JOIN runs r ON r.tenant_id = t.tenant_id SET t.held_microcredits = t.held_microcredits + 1 WHERE r.id = ?`, undo: `UPDATE tenant_budgets t JOIN runs r ON r.tenant_id = t.tenant_id SET t.held_microcredits = t.held_microcredits - 1 WHERE r.id = ?`, values: [rootRunId] })],
    ['Q-13', 'credits that were never given back', () => ({ sql: `UPDATE budgets b JOIN tenant_budgets t ON t.tenant_id = b.tenant_id SET b.released_at = NULL WHERE b.root_run_id = ?`, undo: `UPDATE budgets SET released_at = NOW(3) WHERE root_run_id = ?`, values: [rootRunId] })],
    ['Q-13', 'money carried from nowhere', () => ({ sql: `UPDATE budgets SET carried_microcredits = carried_microcredits + 1 WHERE root_run_id = ?`, undo: `UPDATE budgets SET carried_microcredits = carried_microcredits - 1 WHERE root_run_id = ?`, values: [rootRunId] })],
    ['Q-13', 'a wrong bill', () => ({ sql: `UPDATE budgets SET spent_microcredits = spent_microcredits - 1 WHERE root_run_id = ?`, undo: `UPDATE budgets SET spent_microcredits = spent_microcredits + 1 WHERE root_run_id = ?`, values: [rootRunId] })],
    ['Q-13', 'an overrun that is not listed', () => ({ sql: `UPDATE budgets SET overrun_microcredits = 0 WHERE root_run_id = ?`, undo: `UPDATE budgets SET overrun_microcredits = ${credits(1)} WHERE root_run_id = ?`, values: [rootRunId] })],
    ['Q-13', 'a reservation left open', () => ({ sql: `UPDATE reservations SET state = 'open' WHERE run_id = ? AND operation = 'read'`, undo: `UPDATE reservations SET state = 'settled' WHERE run_id = ? AND operation = 'read'`, values: [workerRunId] })],
    ['Q-13', 'a refunded search', () => ({ sql: `UPDATE reservations SET charge_microcredits = 0 WHERE run_id = ? AND operation = 'search'`, undo: `UPDATE reservations SET charge_microcredits = ${credits(1)} WHERE run_id = ? AND operation = 'search'`, values: [workerRunId] })],
    ['Q-16', 'a delegation that is blamed for a death', () => ({ sql: `UPDATE tool_calls SET deaths = 1 WHERE run_id = ? AND effect = 'delegate'`, undo: `UPDATE tool_calls SET deaths = 0 WHERE run_id = ? AND effect = 'delegate'`, values: [rootRunId] })],
    ['Q-16', 'a third death without its error', () => ({ sql: `UPDATE tool_calls SET deaths = 3 WHERE run_id = ? AND effect = 'read'`, undo: `UPDATE tool_calls SET deaths = 0 WHERE run_id = ? AND effect = 'read'`, values: [workerRunId] })],
    ['Q-17', 'a turn too many', () => ({ sql: `UPDATE runs SET turns_max = 1 WHERE id = ?`, undo: `UPDATE runs SET turns_max = 8 WHERE id = ?`, values: [workerRunId] })],
    ['Q-17', 'a source too many', () => ({ sql: `UPDATE runs SET source_cap = 0 WHERE id = ?`, undo: `UPDATE runs SET source_cap = 20 WHERE id = ?`, values: [rootRunId] })],
    ['Q-17', 'a read that is counted for ever', () => ({ sql: `UPDATE runs SET reads_open = 1 WHERE id = ?`, undo: `UPDATE runs SET reads_open = 0 WHERE id = ?`, values: [rootRunId] })],
    ['Q-18', 'money spent after a cancel', () => ({ sql: `UPDATE runs SET cancel_requested_at = NOW(3) - INTERVAL 1 DAY WHERE id = ?`, undo: `UPDATE runs SET cancel_requested_at = NULL WHERE id = ?`, values: [rootRunId] })],
    ['Q-19', 'a hole in the events', () => ({ sql: `UPDATE run_events SET seq = seq + 1000 WHERE root_run_id = ? AND seq = 2`, undo: `UPDATE run_events SET seq = seq - 1000 WHERE root_run_id = ? AND seq = 1002`, values: [rootRunId] })],
    ['Q-21', `a result in a foreign thread`, () => ({ sql: `UPDATE messages SET thread_id = CONCAT(thread_id, 'x') WHERE run_id = ? AND role = 'tool'`, undo: `UPDATE messages SET thread_id = TRIM(TRAILING 'x' FROM thread_id) WHERE run_id = ? AND role = 'tool'`, values: [workerRunId] })],
    ['Q-21', 'a note on a foreign scratchpad', () => ({ sql: `UPDATE scratchpad_entries SET thread_id = CONCAT(thread_id, 'x') WHERE run_id = ?`, undo: `UPDATE scratchpad_entries SET thread_id = TRIM(TRAILING 'x' FROM thread_id) WHERE run_id = ?`, values: [workerRunId] })],
    ['Q-22', 'a note without its call', () => ({ sql: `UPDATE scratchpad_entries SET tool_call_id = CONCAT(tool_call_id, 'x') WHERE run_id = ?`, undo: `UPDATE scratchpad_entries SET tool_call_id = TRIM(TRAILING 'x' FROM tool_call_id) WHERE run_id = ?`, values: [workerRunId] })],
    ['Q-23', 'a report that cites nothing', () => ({ sql: `UPDATE runs SET lease_owner = NULL, citations = CONCAT('x', citations) WHERE id = ?`, undo: `UPDATE runs SET citations = SUBSTRING(citations, 2) WHERE id = ?`, values: [rootRunId] })],
    ['Q-23', 'a source of another run', () => ({ sql: `UPDATE sources SET root_run_id = run_id WHERE run_id = ?`, undo: `UPDATE sources SET root_run_id = (SELECT r.root_run_id FROM runs r WHERE r.id = sources.run_id) WHERE run_id = ?`, values: [workerRunId] })],
    ['Q-26', `another tenant's message`, () => ({ sql: `UPDATE messages SET tenant_id = 'x' WHERE run_id = ?`, undo: `UPDATE messages SET tenant_id = '${world.tenantId}' WHERE run_id = ?`, values: [workerRunId] })],
    ['Q-35', 'a turn that fell back', () => ({ sql: `UPDATE runs SET turn = 1 WHERE id = ?`, undo: `UPDATE runs SET turn = 2 WHERE id = ?`, values: [workerRunId] })],
    ['Q-36', 'a result nobody can read', () => ({ sql: `UPDATE tool_calls SET result = CONCAT('x', result) WHERE id = ${call}`, undo: `UPDATE tool_calls SET result = SUBSTRING(result, 2) WHERE id = ${call}`, values: [rootRunId] })],
  ];

  it.each(damages)('[%s] notices %s', async (invariant, _what, damage) => {
    const { sql, undo, values } = damage();
    expect((await world.sql.change(sql, values)).affectedRows).toBeGreaterThan(0);
    const during = await runOracles(world.database.url);
    await world.sql.change(undo, values);
    expect(during.filter((report) => report.violations > 0).map((report) => report.invariant)).toContain(invariant);
    expect(failing(await runOracles(world.database.url))).toEqual([]);
  });

  it('[Q-23] notices a changed body and a misquote', async () => {
    const body = await world.one<Buffer>('SELECT body FROM sources LIMIT 1');
    await world.sql.change('UPDATE sources SET body = ?', [await compressText(TEXT.replace('right', 'wrong'))]);
    const titles = failing(await runOracles(world.database.url));
    await world.sql.change('UPDATE sources SET body = ?', [body]);
    expect(titles.filter((title) => title.startsWith('Q-23'))).toHaveLength(2);
  });

  it('[Q-15] notices lost work', async () => {
    const { runId } = await world.waitingRun(2, { workersMax: 1 });
    await world.sql.change(`UPDATE tool_calls SET delivery = 0 WHERE run_id = ?`, [runId]);
    await world.sql.change(`UPDATE outbox SET created_at = NOW(3) - INTERVAL 1 MINUTE`);
    const lapsed = await world.newRun();
    await world.claim(lapsed);
    await world.lapse(lapsed);
    const titles = failing(await runOracles(world.database.url)).filter((title) => title.startsWith('Q-15'));
    expect(titles).toHaveLength(3);
  });
});
