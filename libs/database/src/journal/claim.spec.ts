import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptId } from '#contracts';
import { trials } from '#testing';
import { LeaseRepository } from '../repositories/lease.repository.ts';
import { JournalWorld, credits, delegationCall, finishReservation, mint, modelReservation, noteCall, paidCall, settledCall, settlement, workerAnswer } from '../spec-support/journal-world.ts';

const WAKE_TRIALS = trials(50);

let world: JournalWorld;
beforeAll(async () => {
  world = await JournalWorld.open(32);
});
afterAll(() => world?.close());

describe('claim', () => {
  it(`[Q-32] gives a waiting run to exactly one of 64 concurrent claimants, ${WAKE_TRIALS} times`, async () => {
    const { runId, workers } = await world.waitingRun(1);
    const worker = await world.claim(workers[0]!);
    await world.journal.endRun(worker.fence, null, workerAnswer(workers[0]!));
    for (let trial = 0; trial < WAKE_TRIALS; trial++) {
      const claims = await Promise.all(Array.from({ length: 64 }, () => world.journal.claim(runId, () => [])));
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      await world.sql.change(`UPDATE runs SET status = 'waiting', lease_owner = NULL, lease_expires_at = NULL WHERE id = ?`, [runId]);
    }
    expect(await world.one('SELECT lease_epoch FROM runs WHERE id = ?', [runId])).toBe(WAKE_TRIALS + 1);
  }, 600_000);

  it('leaves alone what is held, waits for open calls, has ended or does not exist', async () => {
    const held = await world.newRun();
    await world.claim(held);
    const { runId: waiting, workers } = await world.waitingRun(1);
    const ended = await world.claim(workers[0]!);
    await world.journal.endRun(ended.fence, null, workerAnswer(workers[0]!));
    const waitsAgain = await world.waitingRun(1);
    for (const runId of [held, workers[0]!, waitsAgain.runId, mint<typeof held>('run')]) expect(await world.journal.claim(runId, () => [])).toBeNull();
    expect(await world.journal.claim(waiting, () => [])).not.toBeNull();
  });

  it('[Q-03] raises the epoch each time, also after a lease has lapsed', async () => {
    const runId = await world.newRun();
    const first = await world.claim(runId);
    await world.lapse(runId);
    const second = await world.claim(runId, [], world.journalOf('elsewhere'));
    expect(second.fence.leaseEpoch).toBe(first.fence.leaseEpoch + 1);
    expect(await world.one('SELECT lease_owner FROM runs WHERE id = ?', [runId])).toBe('elsewhere');
  });

  it('[Q-06] [Q-13] records the model call of a dead holder as lost and leaves it spent', async () => {
    const runId = await world.newRun();
    const first = await world.claim(runId, [modelReservation(runId, 1, 1, credits(5))]);
    expect(first.reservations).toHaveLength(1);
    await world.lapse(runId);
    const second = await world.claim(runId, [modelReservation(runId, 1, 2, credits(5))]);
    expect(second.loaded).toMatchObject({ attemptsBegun: 1, ledger: { reserved: credits(5), spent: credits(5) } });
    expect(await world.sql.rows('SELECT turn, attempt, kind, outcome FROM attempts WHERE run_id = ?', [runId])).toEqual([{ turn: 1, attempt: 1, kind: 'attempt', outcome: 'lost' }]);
    expect(await world.count('reservations', `run_id = ? AND state = 'unknown'`, [runId])).toBe(1);
    expect(await world.count('run_events', `root_run_id = ? AND type = 'settlement' AND body LIKE '%"lost"%'`, [runId])).toBe(1);
  });

  it('[Q-04] keeps the finishing allowance and the reservations of calls for the next holder', async () => {
    const runId = await world.newRun();
    const first = await world.claim(runId, [finishReservation(runId), modelReservation(runId, 1)]);
    const attemptId = mint<AttemptId>('att');
    await world.journal.settleTurn(first.fence, settlement({ turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'search')], charge: { reservation: first.reservations[1]!, charge: credits(1) } }));
    await world.lapse(runId);
    const { loaded } = await world.claim(runId);
    expect(loaded.finishReservation?.estimate).toBe(credits(2));
    expect(loaded.calls).toMatchObject([{ status: 'open', closed: false, reservation: { operation: 'search', estimate: credits(1) } }]);
    expect(loaded.ledger).toMatchObject({ reserved: credits(3), spent: credits(1) });
    expect(loaded.attemptsBegun).toBe(0);
  });

  it('[Q-12] says which first reservations the ledger refused', async () => {
    const runId = await world.newRun({ budgetCredits: 3 });
    const claimed = await world.claim(runId, [finishReservation(runId), modelReservation(runId, 1)]);
    expect(claimed.reservations.map(({ operation }) => operation)).toEqual(['finish']);
    expect(claimed.refused).toEqual(['model']);
  });

  it('[Q-10] loads messages and calls in their order', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'search'), paidCall(attemptId, 1, 'search')] });
    for (const call of settled.calls.toReversed()) await world.journal.closeTurn(fence, { settled: [settledCall(call.toolCallId, call.reservation)], close: null, nextReservation: null });
    const toolCallIds = settled.calls.map((call) => call.toolCallId).toReversed();
    await world.journal.closeTurn(fence, { settled: [], close: { toolCallIds }, nextReservation: null });
    await world.lapse(runId);
    const { loaded } = await world.claim(runId);
    expect(loaded.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(loaded.messages.slice(2).map((message) => message.toolCallId)).toEqual(settled.calls.map((call) => call.toolCallId));
  });

  it('[Q-16] counts the death of a holder against the calls that were executing in it, up to two, and against nothing else', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const calls = [paidCall(attemptId, 0, 'search'), paidCall(attemptId, 1, 'search'), noteCall(attemptId, 2), delegationCall(attemptId, 3)];
    const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls });
    await world.journal.closeTurn(fence, { settled: [settledCall(settled.calls[0]!.toolCallId, settled.calls[0]!.reservation)], close: null, nextReservation: null });
    for (const deaths of [1, 2, 2]) {
      await world.lapse(runId);
      const { loaded } = await world.claim(runId, [], world.journalOf(`holder-${deaths}`));
      expect(loaded.calls.map((call) => call.deaths)).toEqual([0, deaths, 0, 0]);
      expect(await world.sql.rows('SELECT deaths FROM tool_calls WHERE run_id = ? ORDER BY call_index', [runId])).toEqual([0, deaths, 0, 0].map((count) => ({ deaths: count })));
    }
  });

  it('[Q-16] blames no call for a holder that let go of its run', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { fence } = await world.settledRun(runId, { turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'search')] });
    await new LeaseRepository(world.sql, { owner: 'here', leaseTtlMs: 30_000 }).abandon([fence]);
    expect((await world.claim(runId)).loaded.calls).toMatchObject([{ status: 'open', deaths: 0 }]);
  });

  it('[Q-36] ends a run with a row that cannot be read, as failed, and books what may be owed', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'search'), paidCall(attemptId, 1, 'search')], nextReservation: modelReservation(runId, 2) });
    await world.sql.change(`UPDATE tool_calls SET status = 'succeeded', result = '{"kind":"from the future"}' WHERE id = ?`, [settled.calls[0]!.toolCallId]);
    await world.lapse(runId);
    await expect(world.journal.claim(runId, () => [])).rejects.toMatchObject({ code: 'JOURNAL_INVALID' });
    expect(await world.sql.rows('SELECT status, stop_reason, last_error_code, lease_owner FROM runs WHERE id = ?', [runId])).toEqual([{ status: 'failed', stop_reason: 'internal_error', last_error_code: 'JOURNAL_INVALID', lease_owner: null }]);
    expect(await world.sql.rows('SELECT reserved_microcredits AS reserved, spent_microcredits AS spent FROM budgets WHERE root_run_id = ?', [runId])).toEqual([{ reserved: '0', spent: String(credits(5)) }]);
    expect(await world.count('attempts', `run_id = ? AND outcome = 'lost'`, [runId])).toBe(1);
    expect(await world.count('tool_calls', `run_id = ? AND status = 'open'`, [runId])).toBe(0);
    expect(await world.journal.claim(runId, () => [])).toBeNull();
  });

  it('[Q-36] answers a delegation whose worker run cannot be read', async () => {
    const { runId, calls, workers } = await world.waitingRun(1);
    const attemptId = mint<AttemptId>('att');
    const { settled } = await world.settledRun(workers[0]!, { turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'search')] });
    await world.sql.change(`UPDATE tool_calls SET status = 'succeeded', result = 'no JSON' WHERE id = ?`, [settled.calls[0]!.toolCallId]);
    await world.lapse(workers[0]!);
    await expect(world.journal.claim(workers[0]!, () => [])).rejects.toMatchObject({ code: 'JOURNAL_INVALID' });
    expect(await world.sql.rows('SELECT status, error_code FROM tool_calls WHERE id = ?', [calls[0]!])).toEqual([{ status: 'failed', error_code: 'DELEGATION_FAILED' }]);
    expect(await world.journal.claim(runId, () => [])).not.toBeNull();
  });
});
