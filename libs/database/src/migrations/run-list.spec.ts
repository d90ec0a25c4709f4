import { afterAll, beforeAll, expect, it } from 'vitest';
import { JournalWorld, mint } from '../spec-support/journal-world.ts';

const OTHER_RUNS = 3_000;
let world: JournalWorld;
beforeAll(async () => {
  world = await JournalWorld.open();
});
afterAll(() => world?.close());

it('a tenant\'s few failed runs are found without a sort, among thousands of its own and thousands of failed ones', async () => {
  const runId = await world.newRun();
  const columns = 'scratchpad_thread_id, assistant_id, role, question, turns_max, workers_max, source_cap, deadline_at, created_at, sent_at';
  const ids = Array.from({ length: OTHER_RUNS }, () => mint<string>('run'));
  await world.sql.change(
    `INSERT INTO runs (id, thread_id, root_run_id, tenant_id, status, ${columns}) ${ids.map(() => `SELECT ?, ?, ?, ?, ?, ${columns} FROM runs WHERE id = ?`).join(' UNION ALL ')}`,
    ids.flatMap((id, index) => [id, id, id, ...(index % 2 === 0 ? [world.tenantId, 'completed'] : ['ten_other', 'failed']), runId]),
  );
  await world.sql.batch([{ sql: `UPDATE runs SET status = 'failed' WHERE id = ?`, values: [runId] }, { sql: 'ANALYZE TABLE runs' }]);
  const [plan] = await world.sql.rows(`EXPLAIN SELECT id FROM runs r WHERE r.tenant_id = ? AND r.root_run_id = r.id AND r.role = 'supervisor' AND r.status = 'failed' ORDER BY r.run_no DESC LIMIT 21`, [world.tenantId]);
  // a row of columns on MariaDB, a tree of words on MySQL
  const told = JSON.stringify(plan);
  expect([told.includes('runs_tenant_status'), /sort/i.test(told)]).toEqual([true, false]);
});
