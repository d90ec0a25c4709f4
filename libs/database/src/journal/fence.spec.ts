import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptId, RunId } from '#contracts';
import type { Fence, OpenReservation } from '#domain';
import { JournalWorld, credits, delegationCall, ending, mint, modelReservation, noteCall, paidCall, settledCall, settlement } from '../spec-support/journal-world.ts';

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
