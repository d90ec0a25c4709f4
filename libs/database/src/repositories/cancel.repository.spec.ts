import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptId, TenantId } from '#contracts';
import { runOracles } from '../oracles/index.ts';
import { delegationCall, ending, JournalWorld, mint, modelReservation, settlement } from '../spec-support/journal-world.ts';
import { CancelRepository } from './cancel.repository.ts';
import { SweepRepository } from './sweep.repository.ts';

let world: JournalWorld;
let cancels: CancelRepository;
beforeAll(async () => {
  world = await JournalWorld.open();
  cancels = new CancelRepository(world.sql);
});
afterAll(async () => {
  const broken = await runOracles(world.database.url, { atRest: true }).then((reports) => reports.filter((report) => report.violations > 0));
  await world?.close();
  expect(broken).toEqual([]);
});

const statuses = (runId: string) => world.sql.rows('SELECT status FROM runs WHERE root_run_id = ? ORDER BY run_no', [runId]).then((rows) => rows.map((row) => row['status'] as string));

describe('cancel', () => {
  it('[Q-26] is refused for a foreign, an ended and a worker run, and may be repeated', async () => {
    const { runId, workers } = await world.waitingRun(1);
    expect(await cancels.request(mint<TenantId>('ten'), runId)).toBe(false);
    expect(await cancels.request(world.tenantId, workers[0]!)).toBe(false);
    expect(await cancels.request(world.tenantId, runId)).toBe(true);
    const first = await world.one<Date>('SELECT cancel_requested_at FROM runs WHERE id = ?', [runId]);
    expect(await cancels.request(world.tenantId, runId)).toBe(true);
    expect(await world.one<Date>('SELECT cancel_requested_at FROM runs WHERE id = ?', [runId])).toEqual(first);
    await cancels.endIdleRuns(runId);
    expect(await cancels.request(world.tenantId, runId)).toBe(false);
  });

  it('[Q-18] [Q-01] ends an idle tree as a whole, and each call of it has its result', async () => {
    const { runId } = await world.waitingRun(3, { workersMax: 1 });
    await cancels.request(world.tenantId, runId);
    await cancels.endIdleRuns(runId);
    expect(await statuses(runId)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled']);
    expect(await world.sql.rows('SELECT DISTINCT status, error_code FROM tool_calls WHERE run_id = ?', [runId])).toEqual([{ status: 'cancelled', error_code: 'RUN_CANCELLED' }]);
    expect(await world.count('messages', `run_id = ? AND role = 'tool' AND is_error = 1`, [runId])).toBe(3);
    expect(await cancels.endIdleRuns(runId)).toEqual([]);
  });

  it('[Q-18] makes no worker run and sets no money aside after it', async () => {
    const runId = await world.newRun();
    const { fence, reservations } = await world.claim(runId, [modelReservation(runId, 1)]);
    await cancels.request(world.tenantId, runId);
    const attemptId = mint<AttemptId>('att');
    const settled = await world.journal.settleTurn(fence, settlement({ turn: 1, attemptId, calls: [delegationCall(attemptId, 0)], charge: { reservation: reservations[0]!, charge: 1 } }));
    expect(settled).toMatchObject({ cancelRequested: true, jobs: [], calls: [{ status: 'refused', result: { code: 'RUN_CANCELLED' } }] });
    await world.sql.change('UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 SECOND WHERE id = ?', [runId]);
    const again = await world.claim(runId, [modelReservation(runId, 2)]);
    expect(again).toMatchObject({ reservations: [], refused: [] });
    await world.journal.endRun(again.fence, null, ending('cancelled'));
    expect(await statuses(runId)).toEqual(['cancelled']);
    expect(await world.count('reservations', 'run_id = ?', [runId])).toBe(1);
  });

  it('leaves held runs to their holders', async () => {
    const { runId, workers } = await world.waitingRun(2);
    const { fence } = await world.claim(workers[0]!, [modelReservation(workers[0]!, 1)]);
    await cancels.request(world.tenantId, runId);
    await cancels.endIdleRuns(runId);
    expect(await statuses(runId)).toEqual(['cancelled', 'running', 'cancelled']);
    await world.journal.endRun(fence, null, ending('cancelled', { kind: 'error', code: 'RUN_CANCELLED', message: 'cancelled' }));
    expect(await world.one('SELECT reserved_microcredits FROM budgets WHERE root_run_id = ?', [runId])).toBe('0');
  });

  it('[Q-08] racing cancels end each run once', async () => {
    const { runId } = await world.waitingRun(2);
    await cancels.request(world.tenantId, runId);
    await Promise.all(Array.from({ length: 8 }, () => cancels.endIdleRuns(runId)));
    expect(await world.count('run_events', `root_run_id = ? AND type = 'run_status' AND body LIKE '%cancelled%'`, [runId])).toBe(1);
  });
});

describe('a tree whose canceller died', () => {
  it('[Q-09] is found by the sweeper: cancelled, or left behind by its root run', async () => {
    const sweep = new SweepRepository(world.sql);
    const cancelled = await world.waitingRun(1);
    await cancels.request(world.tenantId, cancelled.runId);
    const orphaned = await world.waitingRun(2, { workersMax: 1 });
    await world.sql.change(`UPDATE runs SET status = 'running' WHERE id = ?`, [orphaned.runId]);
    await world.journal.endRun(orphaned.fence, null, ending('internal_error'));
    await world.sql.change('UPDATE runs SET cancel_requested_at = cancel_requested_at - INTERVAL 2 SECOND, ended_at = ended_at - INTERVAL 2 SECOND WHERE id IN (?)', [[cancelled.runId, orphaned.runId]]);
    const look = async () => (await sweep.look({ resendAfterMs: 10_000, recoverAfterMs: 10_000, limit: 10 })).cancelledRoots;
    const roots = await look();
    expect(new Set(roots)).toEqual(new Set([cancelled.runId, orphaned.runId]));
    for (const root of roots) await cancels.endIdleRuns(root);
    expect(await statuses(orphaned.runId)).toEqual(['failed', 'cancelled', 'cancelled']);
    expect(await look()).toEqual([]);
  });
});
