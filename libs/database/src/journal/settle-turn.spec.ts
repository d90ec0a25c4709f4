import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DELEGATIONS_PER_RUN_MAX, toolCallJobId, type AttemptId } from '#contracts';
import { runOracles } from '../oracles/index.ts';
import { ScratchpadWriteRepository } from '../repositories/scratchpad.repository.ts';
import { JournalWorld, credits, delegationCall, mint, modelReservation, newSourceId, noteCall, paidCall, refusedCall, settledCall, settlement, workerAnswer } from '../spec-support/journal-world.ts';

let world: JournalWorld;
beforeAll(async () => {
  world = await JournalWorld.open();
});
afterAll(async () => {
  const broken = await runOracles(world.database.url, { atRest: true }).then((reports) => reports.filter((report) => report.violations > 0));
  await world?.close();
  expect(broken).toEqual([]);
});

const page = { url: 'https://example.org/', finalUrl: 'https://example.org/', title: 'Page', mediaType: 'text/html', text: 'text', bodySha256: createHash('sha256').update('text').digest('hex'), extraction: 'test' };
const ledgerOf = (runId: string) => world.sql.rows('SELECT reserved_microcredits AS reserved, spent_microcredits AS spent, overrun_microcredits AS overrun FROM budgets WHERE root_run_id = ?', [runId]);

describe('settleTurn', () => {
  it('makes a worker run for each delegation, sends as many as may work at once, and the next as one ends', async () => {
    const { calls, workers } = await world.waitingRun(5, { workersMax: 2 });
    expect(await world.sql.rows(`SELECT worker_number, status, turns_max FROM runs WHERE id IN (?) ORDER BY worker_number`, [workers])).toEqual(
      [1, 2, 3, 4, 5].map((worker_number) => ({ worker_number, status: 'queued', turns_max: 8 })),
    );
    const sent = () => world.sql.rows(`SELECT job_id FROM outbox WHERE queue = 'delegations' AND job_id IN (?) ORDER BY id`, [calls.map((call) => toolCallJobId(call, 1))]).then((rows) => rows.map((row) => row['job_id'] as string));
    expect(await sent()).toEqual(calls.slice(0, 2).map((call) => toolCallJobId(call, 1)));
    for (const [index, workerRunId] of workers.entries()) {
      const worker = await world.claim(workerRunId);
      const { jobs } = await world.journal.endRun(worker.fence, null, workerAnswer(workerRunId));
      const next = calls[index + 2];
      expect(jobs.filter((job) => job.queue === 'delegations').map((job) => job.jobId)).toEqual(next ? [toolCallJobId(next, 1)] : []);
      expect(jobs.some((job) => job.queue === 'runs')).toBe(index === 4);
    }
    expect(await sent()).toEqual(calls.map((call) => toolCallJobId(call, 1)));
  });

  it('[Q-15] fills worker slots with delegations, wherever they stand among the calls of a turn', async () => {
    const runId = await world.newRun({ workersMax: 2 });
    const attemptId = mint<AttemptId>('att');
    const calls = [refusedCall(attemptId, 0), noteCall(attemptId, 1), delegationCall(attemptId, 2), noteCall(attemptId, 3), delegationCall(attemptId, 4), delegationCall(attemptId, 5)];
    const { settled } = await world.settledRun(runId, { turn: 1, attemptId, calls });
    expect(settled.jobs.map((job) => job.jobId)).toEqual([1, 2, 3, 4].map((index) => toolCallJobId(calls[index]!.toolCallId, 1)));
  });

  it('[Q-17] refuses delegations beyond the limit of a run', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: Array.from({ length: DELEGATIONS_PER_RUN_MAX + 2 }, (_, index) => delegationCall(attemptId, index)) });
    expect(settled.calls.map((call) => call.status).filter((status) => status === 'refused')).toHaveLength(2);
    expect(settled.calls.at(-1)?.result).toMatchObject({ code: 'DELEGATION_LIMIT_REACHED' });
    expect(await world.one('SELECT limits_hit FROM runs WHERE id = ?', [runId])).toBe('delegation_limit');
    expect(await world.count('runs', 'root_run_id = ? AND parent_run_id IS NOT NULL', [runId])).toBe(DELEGATIONS_PER_RUN_MAX);
  });

  it('[Q-17] counts reads under way against the source cap', async () => {
    const runId = await world.newRun({ sourceCap: 2 });
    const attemptId = mint<AttemptId>('att');
    const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [0, 1, 2].map((index) => paidCall(attemptId, index, 'read')) });
    expect(settled.calls.map((call) => call.status)).toEqual(['open', 'open', 'refused']);
    const [kept, failed] = settled.calls;
    const closed = await world.journal.closeTurn(fence, {
      settled: [settledCall(kept!.toolCallId, kept!.reservation, { id: newSourceId(), page }), settledCall(failed!.toolCallId, failed!.reservation)],
      close: { toolCallIds: settled.calls.map((call) => call.toolCallId) },
      nextReservation: modelReservation(runId, 2),
    });
    expect(closed.sourceCapReached).toBe(false);
    // a read that gave no source leaves its place free
    const second = mint<AttemptId>('att');
    const next = await world.journal.settleTurn(fence, settlement({ turn: 2, attemptId: second, charge: { reservation: closed.nextReservation!, charge: 0 }, calls: [0, 1].map((index) => paidCall(second, index, 'read')) }));
    expect(next.calls.map((call) => call.status)).toEqual(['open', 'refused']);
  });

  it('[Q-12] refuses a call that the budget does not cover, inside the settlement', async () => {
    const runId = await world.newRun({ budgetCredits: 4 });
    const attemptId = mint<AttemptId>('att');
    const { settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [0, 1, 2].map((index) => paidCall(attemptId, index, 'read')) });
    expect(settled.calls.map((call) => call.status)).toEqual(['open', 'refused', 'refused']);
    expect(settled.calls[1]?.result).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(settled.ledger).toMatchObject({ reserved: credits(2), spent: credits(1) });
    expect(await world.one('SELECT limits_hit FROM runs WHERE id = ?', [runId])).toBe('credits');
  });

  it('[Q-13] lists what a charge exceeds its reservation by, and never refuses it', async () => {
    const runId = await world.newRun({ budgetCredits: 2 });
    const { reservations, fence } = await world.claim(runId, [modelReservation(runId, 1)]);
    const { ledger } = await world.journal.settleTurn(fence, settlement({ turn: 1, charge: { reservation: reservations[0]!, charge: credits(7) } }));
    expect(ledger).toEqual({ limit: credits(2), reserved: 0, spent: credits(2), overrun: credits(5) });
  });

  it('[Q-02] doubles nothing when it is repeated after a commit nobody heard of', async () => {
    const runId = await world.newRun();
    const { reservations, fence } = await world.claim(runId, [modelReservation(runId, 1)]);
    const attemptId = mint<AttemptId>('att');
    const turn = settlement({ turn: 1, attemptId, charge: { reservation: reservations[0]!, charge: credits(1) }, calls: [delegationCall(attemptId, 0), noteCall(attemptId, 1), paidCall(attemptId, 2, 'read')] });
    const first = await world.journal.settleTurn(fence, turn);
    const before = [await ledgerOf(runId), await world.count('tool_calls', 'run_id = ?', [runId]), await world.count('runs', 'root_run_id = ?', [runId]), await world.count('run_events', 'root_run_id = ?', [runId]), await world.count('outbox')];
    expect(await world.journal.settleTurn(fence, turn)).toEqual(first);
    expect([await ledgerOf(runId), await world.count('tool_calls', 'run_id = ?', [runId]), await world.count('runs', 'root_run_id = ?', [runId]), await world.count('run_events', 'root_run_id = ?', [runId]), await world.count('outbox')]).toEqual(before);
  });

  it('[Q-06] keeps a failed attempt out of the conversation', async () => {
    const runId = await world.newRun();
    await world.settledRun(runId, { turn: 1, kind: 'attempt' });
    expect(await world.count('messages', `run_id = ? AND role = 'assistant'`, [runId])).toBe(0);
    expect(await world.one('SELECT turn FROM runs WHERE id = ?', [runId])).toBe(0);
  });
});

describe('closeTurn', () => {
  it('[Q-02] [Q-13] books, stores and announces a call once, however often its settlement is repeated', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'read'), paidCall(attemptId, 1, 'search')] });
    const [read] = settled.calls;
    const closing = { settled: [{ ...settledCall(read!.toolCallId, read!.reservation, { id: newSourceId(), page }), events: [{ type: 'error' as const, code: 'X', message: 'told once' }] }], close: null, nextReservation: null };
    const first = await world.journal.closeTurn(fence, closing);
    const second = await world.journal.closeTurn(fence, closing);
    expect(second.ledger).toEqual(first.ledger);
    expect(second.results.get(read!.toolCallId)).toEqual(closing.settled[0]!.result);
    expect(await ledgerOf(runId)).toEqual([{ reserved: String(credits(1)), spent: String(credits(3)), overrun: '0' }]);
    expect(await world.one('SELECT sources_read FROM runs WHERE id = ?', [runId])).toBe(1);
    expect(await world.count('sources', 'root_run_id = ?', [runId])).toBe(1);
    expect(await world.count('run_events', `root_run_id = ? AND body LIKE '%told once%'`, [runId])).toBe(1);
  });

  it('[Q-02] gives way to a result that was there first', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [noteCall(attemptId, 0)] });
    const { toolCallId } = settled.calls[0]!;
    await new ScratchpadWriteRepository(world.sql).settle(toolCallId, { operation: 'append', text: 'a finding' });
    const late = { ...settledCall(toolCallId, null), result: { kind: 'error' as const, code: 'TOOL_TIMEOUT', message: 'too late' }, events: [{ type: 'error' as const, code: 'X', message: 'never told' }] };
    const closed = await world.journal.closeTurn(fence, { settled: [late], close: { toolCallIds: [toolCallId] }, nextReservation: null });
    expect(closed.results.get(toolCallId)).toMatchObject({ kind: 'text' });
    expect(await world.count('run_events', `root_run_id = ? AND body LIKE '%never told%'`, [runId])).toBe(0);
  });
});
