import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runJobId, type AttemptId } from '#contracts';
import { JournalWorld, credits, delegationCall, ending, mint, modelReservation, noteCall, workerAnswer } from '../spec-support/journal-world.ts';

let world: JournalWorld;
beforeAll(async () => {
  world = await JournalWorld.open(16);
});
afterAll(() => world?.close());

const within = (maxMs: number) => new Promise((resolve) => setTimeout(resolve, Math.random() * maxMs));

describe('park', () => {
  it('[Q-15] never loses the wake of a worker that ends meanwhile, in 200 races', async () => {
    const seen = { parked: 0, stayed: 0 };
    for (let trial = 0; trial < 200; trial++) {
      const runId = await world.newRun();
      const attemptId = mint<AttemptId>('att');
      const calls = [delegationCall(attemptId, 0), delegationCall(attemptId, 1)];
      const { fence } = await world.settledRun(runId, { turn: 1, attemptId, calls });
      const workers = await Promise.all(calls.map((call) => world.claim(call.delegation!.runId)));
      const [parked, ...ended] = await Promise.all([
        within(4).then(() => world.journal.park(fence)),
        ...workers.map((worker) => within(4).then(() => world.journal.endRun(worker.fence, null, workerAnswer(worker.fence.runId)))),
      ]);
      const wakes = ended.flatMap(({ jobs }) => jobs).filter((job) => job.queue === 'runs');
      if (parked) {
        seen.parked++;
        expect(wakes.length).toBeGreaterThan(0);
        expect(new Set(wakes.map((job) => job.jobId))).toEqual(new Set([runJobId(runId, 1)]));
        expect(await world.journal.claim(runId, () => [])).not.toBeNull();
      } else {
        seen.stayed++;
        expect(await world.one('SELECT status FROM runs WHERE id = ?', [runId])).toBe('running');
      }
    }
    // both orders came up, or the race was none
    expect(Math.min(seen.parked, seen.stayed)).toBeGreaterThan(5);
  }, 60_000);

  it('lets go of lease and slot, and raises the wake number', async () => {
    const { runId } = await world.waitingRun(1);
    expect(await world.sql.rows('SELECT status, lease_owner, lease_expires_at, wake_number FROM runs WHERE id = ?', [runId])).toEqual([{ status: 'waiting', lease_owner: null, lease_expires_at: null, wake_number: 1 }]);
    expect(await world.count('run_events', `root_run_id = ? AND body LIKE '%waiting%'`, [runId])).toBe(1);
  });

  it('counts open calls of the newest turn only', async () => {
    const runId = await world.newRun();
    const { fence } = await world.settledRun(runId, { turn: 1 });
    expect(await world.journal.park(fence)).toBe(false);
  });
});

describe('release', () => {
  it('[Q-30] hands a root run on at once, with a job and without its unused reservation', async () => {
    const runId = await world.newRun();
    const { fence } = await world.claim(runId, [modelReservation(runId, 1)]);
    const jobs = await world.journal.release(fence);
    expect(jobs).toEqual([{ queue: 'runs', jobId: runJobId(runId, 1), payload: { runId } }]);
    const { loaded } = await world.claim(runId, [], world.journalOf('next'));
    expect(loaded.ledger).toMatchObject({ reserved: 0, spent: 0 });
    expect(await world.count('outbox', 'job_id = ?', [jobs[0]!.jobId])).toBe(1);
  });

  it('delivers a worker run again under a new number', async () => {
    const { workers, calls } = await world.waitingRun(1);
    const { fence } = await world.claim(workers[0]!);
    expect(await world.journal.release(fence)).toMatchObject([{ queue: 'delegations', jobId: `${calls[0]}.2` }]);
    expect(await world.journal.claim(workers[0]!, () => [])).not.toBeNull();
  });
});

describe('endRun', () => {
  it('[Q-01] [Q-13] closes open calls in order and books what is left', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const search = { ...noteCall(attemptId, 1), effect: 'read', scratchpadJob: false, reservation: { id: mint<never>('res'), effectKey: `tool:search-${attemptId}`, operation: 'search' as const, estimate: credits(1) } };
    const { fence } = await world.settledRun(runId, { turn: 1, attemptId, calls: [noteCall(attemptId, 0), search], nextReservation: modelReservation(runId, 2) });
    await world.journal.endRun(fence, null, ending('deadline_reached'));
    expect(await world.sql.rows(`SELECT c.call_index, c.status, c.error_code, m.is_error FROM tool_calls c JOIN messages m ON m.tool_call_id = c.id WHERE c.run_id = ? ORDER BY m.sequence_no`, [runId])).toEqual(
      [0, 1].map((call_index) => ({ call_index, status: 'unknown', error_code: 'TOOL_OUTCOME_UNKNOWN', is_error: 1 })),
    );
    // the search may have been sent and stays spent; the model call was only reserved
    expect(await world.sql.rows('SELECT reserved_microcredits AS reserved, spent_microcredits AS spent FROM budgets WHERE root_run_id = ?', [runId])).toEqual([{ reserved: '0', spent: String(credits(2)) }]);
    expect(await world.count('reservations', `run_id = ? AND state = 'unknown'`, [runId])).toBe(1);
    expect(await world.sql.rows('SELECT status, stop_reason, lease_owner, active_thread_id FROM runs WHERE id = ?', [runId])).toEqual([{ status: 'incomplete', stop_reason: 'deadline_reached', lease_owner: null, active_thread_id: null }]);
  });

  it('[Q-02] keeps the first result of a delegation', async () => {
    const { runId, workers, calls } = await world.waitingRun(1);
    const worker = await world.claim(workers[0]!);
    await world.sql.change(`UPDATE tool_calls SET status = 'cancelled', result = '{"kind":"error","code":"RUN_CANCELLED","message":"first"}' WHERE id = ?`, [calls[0]!]);
    await world.journal.endRun(worker.fence, null, workerAnswer(workers[0]!));
    expect(await world.one('SELECT status FROM tool_calls WHERE id = ?', [calls[0]!])).toBe('cancelled');
    expect(await world.one('SELECT status FROM runs WHERE id = ?', [workers[0]!])).toBe('completed');
    expect(await world.journal.claim(runId, () => [])).not.toBeNull();
  });
});
