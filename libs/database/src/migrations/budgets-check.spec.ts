import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reserve } from '#domain';
import { JournalWorld, mint } from '../spec-support/journal-world.ts';

let world: JournalWorld;
const rootRunId = mint<never>('run');
beforeAll(async () => {
  world = await JournalWorld.open();
  await world.sql.change('INSERT INTO budgets (root_run_id, tenant_id, limit_microcredits) VALUES (?, ?, 0)', [rootRunId, world.tenantId]);
});
afterAll(() => world?.close());

it('[Q-12] the table refuses exactly what the ledger refuses', async () => {
  const figure = fc.integer({ min: 0, max: 100 });
  const refusals = { both: 0, none: 0 };
  await fc.assert(
    fc.asyncProperty(figure, figure, figure, figure, async (limit, reserved, spent, estimate) => {
      fc.pre(reserved + spent <= limit);
      await world.sql.change('UPDATE budgets SET limit_microcredits = ?, reserved_microcredits = ?, spent_microcredits = ? WHERE root_run_id = ?', [limit, reserved, spent, rootRunId]);
      const ledger = reserve({ limit, reserved, spent, overrun: 0 }, estimate);
      const admitted = await world.sql
        .change('UPDATE budgets SET reserved_microcredits = reserved_microcredits + ? WHERE root_run_id = ?', [estimate, rootRunId])
        .then(() => true, () => false);
      refusals[ledger ? 'none' : 'both']++;
      expect(admitted).toBe(ledger !== null);
    }),
    { numRuns: 200 },
  );
  expect(Math.min(refusals.both, refusals.none)).toBeGreaterThan(10);
});
