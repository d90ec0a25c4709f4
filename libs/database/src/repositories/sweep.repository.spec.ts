import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runJobId, toolCallJobId, type AttemptId } from '#contracts';
import { ending, JournalWorld, mint, modelReservation, noteCall, workerAnswer } from '../spec-support/journal-world.ts';
import { CancelRepository } from './cancel.repository.ts';
import { LeaseRepository } from './lease.repository.ts';
import { SweepRepository } from './sweep.repository.ts';

let world: JournalWorld;
let sweep: SweepRepository;
const worlds: JournalWorld[] = [];
beforeEach(async () => {
  world = await JournalWorld.open();
  worlds.push(world);
  sweep = new SweepRepository(world.sql);
});
afterAll(() => Promise.all(worlds.map((one) => one.close())));

const find = () => sweep.sweep({ resendAfterMs: 10_000, recoverAfterMs: 3_000, limit: 100 });
const jobIds = async () => (await find()).map((job) => job.jobId);
const age = (table: 'runs' | 'tool_calls', column: string, id: string, seconds: number) => world.sql.change(`UPDATE ${table} SET ${column} = ${column} - INTERVAL ? SECOND WHERE id = ?`, [seconds, id]);

describe('[Q-15] the sweeper', () => {
  it('finds nothing while everything is under way', async () => {
    await world.newRun();
    await world.claim(await world.newRun());
    const { workers } = await world.waitingRun(3, { workersMax: 1 });
    await world.claim(workers[0]!);
    expect(await find()).toEqual([]);
  });

  it('sends a root run whose lease has lapsed once, under a new number, however many sweep', async () => {
    const runId = await world.newRun();
    await world.claim(runId);
    await world.lapse(runId);
    const found = await Promise.all(Array.from({ length: 8 }, jobIds));
    expect(found.flat()).toEqual([runJobId(runId, 1)]);
    expect(await jobIds()).toEqual([]);
    await age('runs', 'sent_at', runId, 2);
    expect(await jobIds()).toEqual([]);
    await age('runs', 'sent_at', runId, 2);
    expect(await jobIds()).toEqual([runJobId(runId, 2)]);
    await world.claim(runId);
    expect(await jobIds()).toEqual([]);
  });

  it('[Q-17] does not send lapsed runs with every sweep while nobody takes their jobs, so that others get their turn', async () => {
    const runs = [await world.newRun(), await world.newRun()];
    for (const runId of runs) {
      await world.claim(runId);
      await world.lapse(runId);
    }
    const first = await sweep.sweep({ resendAfterMs: 10_000, recoverAfterMs: 3_000, limit: 1 });
    for (const runId of runs) await age('runs', 'sent_at', runId, 2);
    const second = await sweep.sweep({ resendAfterMs: 10_000, recoverAfterMs: 3_000, limit: 1 });
    expect([...first, ...second].map((job) => job.payload['runId']).toSorted()).toEqual(runs.toSorted());
    for (const runId of runs) await age('runs', 'sent_at', runId, 0.5);
    expect(await jobIds()).toEqual([]);
  });

  it('sends a run that its holder abandoned at once, although its job is young', async () => {
    const runId = await world.newRun();
    const { fence } = await world.claim(runId);
    await age('runs', 'sent_at', runId, 2);
    await new LeaseRepository(world.sql, { owner: 'here', leaseTtlMs: 30_000 }).abandon([fence]);
    expect(await jobIds()).toEqual([runJobId(runId, 1)]);
  });

  it('leaves the job that it sends in the outbox, in the place of the one before, so that its own death loses nothing', async () => {
    const runId = await world.newRun();
    for (const wakeNumber of [1, 2, 3]) {
      await age('runs', 'sent_at', runId, 11);
      const found = await Promise.all(Array.from({ length: 8 }, find));
      expect(found.flat()).toHaveLength(1);
      expect(await world.sql.rows('SELECT queue, job_id, payload FROM outbox')).toEqual([{ queue: 'runs', job_id: runJobId(runId, wakeNumber), payload: JSON.stringify({ runId }) }]);
    }
    const { workers, calls } = await world.waitingRun(1);
    await world.claim(workers[0]!);
    await world.lapse(workers[0]!);
    await age('tool_calls', 'sent_at', calls[0]!, 61);
    expect(await jobIds()).toEqual([toolCallJobId(calls[0]!, 2)]);
    expect(await world.sql.rows(`SELECT job_id FROM outbox WHERE queue = 'delegations'`)).toEqual([{ job_id: toolCallJobId(calls[0]!, 2) }]);
  });

  it('delivers a worker run whose lease has lapsed again', async () => {
    const { workers, calls } = await world.waitingRun(1);
    await world.claim(workers[0]!);
    await world.lapse(workers[0]!);
    await age('tool_calls', 'sent_at', calls[0]!, 61);
    const found = await Promise.all(Array.from({ length: 8 }, jobIds));
    expect(found.flat()).toEqual([toolCallJobId(calls[0]!, 2)]);
    expect(await jobIds()).toEqual([]);
  });

  it('[Q-09] delivers a lapsed worker run even after its parent closed the call, so that it can end', async () => {
    const { runId, workers, calls } = await world.waitingRun(1);
    await world.claim(workers[0]!, [modelReservation(workers[0]!, 1)]);
    const cancels = new CancelRepository(world.sql);
    await cancels.request(world.tenantId, runId);
    await cancels.endIdleRuns(runId);
    await world.lapse(workers[0]!);
    await age('tool_calls', 'sent_at', calls[0]!, 61);
    expect(await jobIds()).toEqual([toolCallJobId(calls[0]!, 2)]);
    const { fence, loaded } = await world.claim(workers[0]!);
    expect(loaded.run.cancelRequested).toBe(true);
    await world.journal.endRun(fence, null, ending('cancelled', { kind: 'error', code: 'RUN_CANCELLED', message: 'cancelled' }));
    expect(await world.count('reservations', `state = 'open'`)).toBe(0);
  });

  it('wakes a run whose wake was lost within seconds of its last result, and not before', async () => {
    const { runId, workers, calls } = await world.waitingRun(1);
    await age('runs', 'waiting_at', runId, 60);
    await age('runs', 'sent_at', runId, 61);
    expect(await jobIds()).toEqual([]);
    const { fence } = await world.claim(workers[0]!);
    await world.journal.endRun(fence, null, workerAnswer(workers[0]!));
    // its finisher is just sending the wake
    expect(await jobIds()).toEqual([]);
    await age('tool_calls', 'settled_at', calls[0]!, 20);
    const found = await Promise.all(Array.from({ length: 8 }, jobIds));
    expect(found.flat()).toEqual([runJobId(runId, 2)]);
    await age('runs', 'sent_at', runId, 5);
    expect(await jobIds()).toEqual([]);
    await age('runs', 'sent_at', runId, 6);
    expect(await jobIds()).toEqual([runJobId(runId, 3)]);
  });

  it('sends a queued run again that nobody took', async () => {
    const runId = await world.newRun();
    await age('runs', 'sent_at', runId, 9);
    expect(await jobIds()).toEqual([]);
    await age('runs', 'sent_at', runId, 2);
    expect(await jobIds()).toEqual([runJobId(runId, 1)]);
    expect(await jobIds()).toEqual([]);
  });

  it('delivers a queued worker run again that had a job, and leaves one alone that waits for a slot', async () => {
    const { workers, calls } = await world.waitingRun(2, { workersMax: 1 });
    for (const id of workers) await age('runs', 'sent_at', id, 60);
    await age('tool_calls', 'sent_at', calls[0]!, 60);
    expect(await jobIds()).toEqual([toolCallJobId(calls[0]!, 2)]);
    expect(await jobIds()).toEqual([]);
  });

  it('sends a scratchpad write again that nobody did', async () => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [noteCall(attemptId, 0)] });
    const { toolCallId } = settled.calls[0]!;
    await age('tool_calls', 'sent_at', toolCallId, 11);
    const found = await Promise.all(Array.from({ length: 8 }, find));
    expect(found.flat()).toEqual([{ queue: 'scratchpad', jobId: toolCallJobId(toolCallId, 2), payload: { toolCallId } }]);
    expect(await jobIds()).toEqual([]);
  });
});

it('forgets processes that have not beaten for ten minutes, and no others', async () => {
  for (const [owner, seconds] of [['living', -3], ['lapsed', 300], ['dead', 601], ['long-dead', 100_000]] as const) {
    await world.sql.change('INSERT INTO lease_owners (owner, expires_at) VALUES (?, NOW(3) - INTERVAL ? SECOND)', [owner, seconds]);
  }
  expect(await sweep.forgetDeadOwners()).toBe(2);
  expect(await world.sql.rows('SELECT owner FROM lease_owners ORDER BY owner')).toEqual([{ owner: 'lapsed' }, { owner: 'living' }]);
  expect(await sweep.forgetDeadOwners()).toBe(0);
});
