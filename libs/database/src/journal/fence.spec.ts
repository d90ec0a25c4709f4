import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { QuaestorError, type AttemptId, type RunId } from '#contracts';
import type { Fence, OpenReservation } from '#domain';
import { waitUntil } from '#testing';
import { readIncarnation, watchIncarnation } from '../incarnation.ts';
import { RunJournalRepository } from '../repositories/run-journal.repository.ts';
import { JournalWorld, credits, delegationCall, ending, mint, modelReservation, noteCall, paidCall, settledCall, settlement } from '../spec-support/journal-world.ts';
import type { Sql } from '../sql.ts';
import { lockStatement } from './fence.ts';

let world: JournalWorld;
beforeAll(async () => {
  world = await JournalWorld.open();
});
afterAll(() => world?.close());

interface Zombie {
  runId: RunId;
  fence: Fence;
  reservation: OpenReservation;
  toolCallId: NonNullable<ReturnType<typeof paidCall>>['toolCallId'];
}

/** A holder that slept through its lease while another process took the run over. */
async function zombie(): Promise<Zombie> {
  const runId = await world.newRun();
  const attemptId = mint<AttemptId>('att');
  const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'search'), delegationCall(attemptId, 1)] });
  await world.lapse(runId);
  await world.claim(runId, [], world.journalOf('successor'));
  return { runId, fence, reservation: settled.calls[0]!.reservation!, toolCallId: settled.calls[0]!.toolCallId };
}

async function everything(): Promise<string> {
  const tables = ['runs', 'messages', 'tool_calls', 'attempts', 'budgets', 'reservations', 'run_events', 'outbox', 'sources', 'threads'];
  const rows = await Promise.all(tables.map((table) => world.sql.rows(`SELECT * FROM ${table}`)));
  return JSON.stringify(rows);
}

const writes: [string, (late: Zombie) => Promise<unknown>][] = [
  ['settleTurn', ({ fence, runId }) => {
    const attemptId = mint<AttemptId>('att');
    return world.journal.settleTurn(fence, settlement({ turn: 2, attemptId, calls: [noteCall(attemptId, 0), delegationCall(attemptId, 1)], nextReservation: modelReservation(runId, 2, 2) }));
  }],
  ['closeTurn', ({ fence, runId, toolCallId, reservation }) => world.journal.closeTurn(fence, { settled: [settledCall(toolCallId, reservation)], close: { toolCallIds: [toolCallId] }, nextReservation: modelReservation(runId, 2) })],
  ['park', ({ fence }) => world.journal.park(fence)],
  ['endRun', ({ fence }) => world.journal.endRun(fence, settlement({ turn: 2 }), ending('answered'))],
  ['release', ({ fence }) => world.journal.release(fence)],
];

/** As a restore of an older copy leaves the database: the same run under the same lease, in another life. */
async function renamed<Result>(work: () => Promise<Result>): Promise<Result> {
  const incarnation = await readIncarnation(world.sql);
  await world.sql.change(`UPDATE meta SET value = 'another' WHERE name = 'incarnation'`);
  try {
    return await work();
  } finally {
    await world.sql.change(`UPDATE meta SET value = ? WHERE name = 'incarnation'`, [incarnation]);
  }
}

describe('[Q-14] [R15] a process that started in another life of the database', () => {
  it.each(writes)('changes nothing with %s, although it holds the lease', async (_name, write) => {
    const runId = await world.newRun();
    const attemptId = mint<AttemptId>('att');
    const { fence, settled } = await world.settledRun(runId, { turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'search'), delegationCall(attemptId, 1)] });
    const holder = { runId, fence, reservation: settled.calls[0]!.reservation!, toolCallId: settled.calls[0]!.toolCallId };
    await renamed(async () => {
      const before = await everything();
      await expect(write(holder)).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(await everything()).toBe(before);
    });
  });

  it('claims nothing', async () => {
    const runId = await world.newRun();
    const journal = new RunJournalRepository(world.sql, { owner: 'former', leaseTtlMs: 30_000, randomBytes: () => randomBytes(17), incarnation: await readIncarnation(world.sql) });
    await renamed(async () => {
      const before = await everything();
      await expect(journal.claim(runId, () => [])).rejects.toMatchObject({ code: 'DATABASE_REPLACED' });
      expect(await everything()).toBe(before);
    });
    expect(await journal.claim(runId, () => [])).not.toBeNull();
  });

  it('hears of it once, also when the database was away or empty in between', async () => {
    const heard: QuaestorError[] = [];
    const known = await readIncarnation(world.sql);
    const answers = [known, new Error('away'), new QuaestorError('DATABASE_UNSUITABLE', 'empty'), 'another'];
    const sql = { rows: async () => ((next) => (next instanceof Error ? Promise.reject(next) : [{ value: next }]))(answers.shift()) } as unknown as Sql;
    const stop = watchIncarnation({ sql, incarnation: known, intervalMs: 1, onReplaced: (error) => heard.push(error) });
    await waitUntil(() => heard.length > 0, { what: 'the news' });
    stop();
    expect(answers).toEqual([]);
    expect(heard).toMatchObject([{ code: 'DATABASE_REPLACED', message: expect.stringContaining('another') as string }]);
  });

  it('reads the incarnation without locking it, so that runs do not wait for each other', async () => {
    const [one, two] = [await world.newRun(), await world.newRun()];
    await world.sql.transaction([lockStatement(one)], async (tx) => {
      await world.claim(two);
      await world.sql.change(`UPDATE meta SET value = value WHERE name = 'incarnation'`);
      await tx.batchAndCommit([]);
    });
  });
});

describe('[Q-03] a claimant whose lease has passed on', () => {
  it.each(writes)('changes nothing with %s and is told to stop', async (_name, write) => {
    const late = await zombie();
    const before = await everything();
    await expect(write(late)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await everything()).toBe(before);
  });

  it.each(writes)('changes nothing with %s after the run has ended', async (_name, write) => {
    const late = await zombie();
    const fence = { ...late.fence, leaseEpoch: late.fence.leaseEpoch + 1 };
    await world.journal.endRun(fence, null, ending('provider_failed'));
    const before = await everything();
    await expect(write({ ...late, fence })).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await everything()).toBe(before);
  });

  it('still writes while it holds the lease', async () => {
    const runId = await world.newRun();
    const { fence, reservations } = await world.claim(runId, [modelReservation(runId, 1)]);
    await world.journal.settleTurn(fence, settlement({ turn: 1, charge: { reservation: reservations[0]!, charge: credits(1) } }));
    expect(await world.count('attempts', 'run_id = ?', [runId])).toBe(1);
  });
});
