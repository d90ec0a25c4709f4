import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptId } from '#contracts';
import { Sql, type Outcome, type Statement, type UnitOptions } from '../sql.ts';
import { JournalWorld, credits, ending, mint, modelReservation, paidCall, settledCall, settlement } from '../spec-support/journal-world.ts';
import { closeTurn } from './close-turn.ts';
import { settleTurn } from './settle-turn.ts';

/** Records which packets were committed and which were refused. */
class ObservedSql extends Sql {
  readonly packets: ('committed' | 'refused')[] = [];

  override async onePacket(statements: Statement[], options?: UnitOptions): Promise<Outcome[] | null> {
    const outcomes = await super.onePacket(statements, options);
    this.packets.push(outcomes === null ? 'refused' : 'committed');
    return outcomes;
  }
}

let world: JournalWorld;
let sql: ObservedSql;
beforeAll(async () => {
  world = await JournalWorld.open();
  sql = new ObservedSql(world.dataSource);
});
afterAll(() => world?.close());

const begin = async (shape: { budgetCredits?: number; sourceCap?: number } = {}) => {
  sql.packets.length = 0;
  const runId = await world.newRun(shape);
  const { fence, reservations } = await world.claim(runId, [modelReservation(runId, 1)]);
  const attemptId = mint<AttemptId>('att');
  const answer = settlement({ turn: 1, attemptId, calls: [paidCall(attemptId, 0, 'read')], charge: { reservation: reservations[0]!, charge: credits(1) } });
  return { runId, fence, answer };
};
const rowsOf = (runId: string) =>
  world.sql.rows('SELECT r.turn, r.reads_open, r.event_seq, b.reserved_microcredits AS reserved, b.spent_microcredits AS spent FROM runs r JOIN budgets b ON b.root_run_id = r.id WHERE r.id = ?', [runId]);

describe('a turn in one packet', () => {
  it('settles and closes without reading anything first, and leaves dense events and a whole ledger', async () => {
    const { runId, fence, answer } = await begin();
    const settled = await settleTurn(sql, fence, answer);
    expect(settled.ledger).toMatchObject({ reserved: credits(2), spent: credits(1) });
    const call = settled.calls[0]!;
    const closing = { settled: [settledCall(call.toolCallId, call.reservation)], close: { toolCallIds: [call.toolCallId] }, nextReservation: modelReservation(runId, 2) };
    expect((await closeTurn(sql, fence, closing)).ledger).toMatchObject({ reserved: credits(2), spent: credits(3) });
    expect(sql.packets).toEqual(['committed', 'committed']);
    expect(await rowsOf(runId)).toMatchObject([{ turn: 1, reads_open: 0 }]);
    const seqs = (await world.sql.rows('SELECT seq, body FROM run_events WHERE root_run_id = ? ORDER BY seq', [runId])).map((row) => [row['seq'], (JSON.parse(row['body'] as string) as { type: string }).type]);
    expect(seqs.map(([seq]) => seq)).toEqual(seqs.map((_, index) => index + 1));
    expect(seqs.filter(([, type]) => type === 'budget_status')).toHaveLength(2);
  });

  it.each(['quick', 'careful'])('tells what the run is expected to spend, and never less than it has spent: the %s way', async (way) => {
    const { runId, fence, answer } = await begin();
    await world.sql.change('UPDATE budgets SET forecast_microcredits = 2500000 WHERE root_run_id = ?', [runId]);
    const settled = await settleTurn(sql, fence, answer);
    const call = settled.calls[0]!;
    if (way === 'quick') await closeTurn(sql, fence, { settled: [settledCall(call.toolCallId, call.reservation)], close: null, nextReservation: null });
    else await world.journal.endRun(fence, null, ending('answered'));
    const told = (await world.sql.rows(`SELECT body FROM run_events WHERE root_run_id = ? AND type = 'budget_status' ORDER BY seq`, [runId])).map((row) => JSON.parse(row['body'] as string) as object);
    expect(told).toMatchObject([{ spent: 1, forecast: 2.5 }, { spent: 3, forecast: 3 }]);
  });

  it('[Q-03] is refused under a stale lease, and nothing is left of it', async () => {
    const { runId, fence, answer } = await begin();
    const before = await rowsOf(runId);
    await expect(settleTurn(sql, { ...fence, leaseEpoch: fence.leaseEpoch - 1 }, answer)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(sql.packets).toEqual(['refused']);
    expect(await rowsOf(runId)).toEqual(before);
  });

  it('[Q-12] is refused where the budget does not reach, and the careful way refuses the call', async () => {
    const { fence, answer } = await begin({ budgetCredits: 2 });
    expect((await settleTurn(sql, fence, answer)).calls[0]).toMatchObject({ status: 'refused', result: { code: 'BUDGET_EXHAUSTED' } });
    expect(sql.packets).toEqual(['refused']);
  });

  it('[Q-17] is refused above the source cap, and the careful way refuses the read', async () => {
    const { runId, fence, answer } = await begin({ sourceCap: 1 });
    await world.sql.change('UPDATE runs SET reads_open = 1 WHERE id = ?', [runId]);
    expect((await settleTurn(sql, fence, answer)).calls[0]).toMatchObject({ status: 'refused', result: { code: 'SOURCE_CAP_REACHED' } });
    expect(sql.packets).toEqual(['refused']);
  });

  it('[Q-02] closes a call once: a repeat is refused and finds the first result', async () => {
    const { fence, answer } = await begin();
    const call = (await settleTurn(sql, fence, answer)).calls[0]!;
    const closing = { settled: [settledCall(call.toolCallId, call.reservation)], close: { toolCallIds: [call.toolCallId] }, nextReservation: null };
    const first = await closeTurn(sql, fence, closing);
    expect((await closeTurn(sql, fence, closing)).ledger).toEqual(first.ledger);
    expect(sql.packets).toEqual(['committed', 'committed', 'refused']);
  });

  it('[Q-02] keeps the first result of a call that costs nothing', async () => {
    const { fence, answer } = await begin();
    const { toolCallId } = (await settleTurn(sql, fence, answer)).calls[0]!;
    const first = { ...settledCall(toolCallId, null), result: { kind: 'text' as const, text: 'first' } };
    await closeTurn(sql, fence, { settled: [first], close: null, nextReservation: null });
    const late = await closeTurn(sql, fence, { settled: [{ ...first, result: { kind: 'text', text: 'late' } }], close: null, nextReservation: null });
    expect([...late.results]).toEqual([[toolCallId, { kind: 'text', text: 'first' }]]);
    expect(sql.packets).toEqual(['committed', 'committed', 'refused']);
  });
});
