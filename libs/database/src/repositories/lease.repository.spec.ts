import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mint, ending, JournalWorld, workerAnswer } from '../spec-support/journal-world.ts';
import { CancelRepository } from './cancel.repository.ts';
import { LeaseRepository } from './lease.repository.ts';
import type { RunId, ToolCallId } from '#contracts';

let world: JournalWorld;
let leases: LeaseRepository;
beforeAll(async () => {
  world = await JournalWorld.open();
  leases = new LeaseRepository(world.sql, { owner: 'short', leaseTtlMs: 20_000 });
});
afterAll(() => world?.close());

const LAPSE = 'UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 MINUTE WHERE id = ?';

describe('heartbeat', () => {
  it('[Q-03] keeps the runs of its process beyond their first term, and no others', async () => {
    const [held, foreign] = [await world.newRun(), await world.newRun()];
    const mine = await world.claim(held, [], world.journalOf('short', 1_000));
    await world.claim(foreign, [], world.journalOf('other', 1_000));
    expect(await leases.heartbeat([mine.fence])).toEqual([{ runId: held, held: true, cancelRequested: false }]);
    await world.sql.batch([held, foreign].map((runId) => ({ sql: LAPSE, values: [runId] })));
    const thief = world.journalOf('thief', 1_000);
    expect(await thief.claim(held, () => [])).toBeNull();
    expect(await thief.claim(foreign, () => [])).not.toBeNull();
  });

  it('[Q-30] gives everything up at once at the end of its process', async () => {
    const runId = await world.newRun();
    const mine = await world.claim(runId, [], world.journalOf('short', 1_000));
    await leases.heartbeat([mine.fence]);
    await world.sql.change(LAPSE, [runId]);
    await leases.giveUp();
    expect(await world.journalOf('thief', 1_000).claim(runId, () => [])).not.toBeNull();
  });

  it('[Q-03] tells a run apart that passed on, ended or was never there', async () => {
    const [passedOn, ended] = [await world.newRun(), await world.newRun()];
    const old = await world.claim(passedOn);
    await world.lapse(passedOn);
    await world.claim(passedOn, [], world.journalOf('successor', 1_000));
    const done = await world.claim(ended);
    await world.journal.endRun(done.fence, null, ending('answered'));
    const answers = await leases.heartbeat([old.fence, done.fence, { runId: mint<RunId>('run'), leaseEpoch: 1 }]);
    expect(answers.map((answer) => answer.held)).toEqual([false, false, false]);
  });

  it('[Q-18] brings the cancel of a root run to all of its workers', async () => {
    const { runId, workers } = await world.waitingRun(2);
    const fences = await Promise.all(workers.map(async (worker) => (await world.claim(worker)).fence));
    expect((await leases.heartbeat(fences)).map((answer) => answer.cancelRequested)).toEqual([false, false]);
    await new CancelRepository(world.sql).request(world.tenantId, runId);
    expect((await leases.heartbeat(fences)).map((answer) => [answer.held, answer.cancelRequested])).toEqual([[true, true], [true, true]]);
  });

  it('[Q-09] tells workers to stop when their root run has ended without them', async () => {
    const { runId, workers } = await world.waitingRun(1);
    const worker = await world.claim(workers[0]!);
    await world.sql.change(`UPDATE runs SET status = 'running' WHERE id = ?`, [runId]);
    await world.journal.endRun({ ...worker.fence, runId, leaseEpoch: 1 }, null, ending('internal_error'));
    expect(await leases.heartbeat([worker.fence])).toEqual([{ runId: workers[0], held: true, cancelRequested: true }]);
    await world.lapse(workers[0]!);
    expect((await world.claim(workers[0]!)).loaded.run.cancelRequested).toBe(true);
  });

  it('asks nothing when nothing is held', async () => {
    expect(await leases.heartbeat([])).toEqual([]);
  });
});

describe('delegations', () => {
  it('finds the worker run of a call', async () => {
    const { calls, workers } = await world.waitingRun(1);
    expect(await leases.runOfDelegation(calls[0]!)).toBe(workers[0]);
    expect(await leases.runOfDelegation(mint<ToolCallId>('call'))).toBeNull();
  });

  it('[Q-32] names a waiting parent once, when its last call has a result', async () => {
    const { runId, calls, workers } = await world.waitingRun(2);
    for (const worker of workers) {
      expect(await leases.parentsToWake(calls)).toEqual([]);
      const { fence } = await world.claim(worker);
      await world.journal.endRun(fence, null, workerAnswer(worker));
    }
    expect(await leases.parentsToWake(calls)).toEqual([{ runId, wakeNumber: 1 }]);
    await world.claim(runId);
    expect(await leases.parentsToWake(calls)).toEqual([]);
  });
});

describe('abandon', () => {
  it('[Q-09] lets one run lapse although its process lives on, and leaves a newer claim alone', async () => {
    const [broken, alive] = [await world.newRun(), await world.newRun()];
    const journal = world.journalOf('short', 30_000);
    const old = await world.claim(broken, [], journal);
    const other = await world.claim(alive, [], journal);
    await leases.heartbeat([old.fence, other.fence]);
    await leases.abandon([old.fence, { runId: alive, leaseEpoch: other.fence.leaseEpoch - 1 }]);
    const thief = world.journalOf('thief', 30_000);
    expect(await thief.claim(broken, () => [])).not.toBeNull();
    expect(await thief.claim(alive, () => [])).toBeNull();
  });
});
