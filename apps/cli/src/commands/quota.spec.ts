import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunId } from '#contracts';
import { openDataSource } from '#database';
import { createTestDatabase, type TestDatabase } from '#testing';
import type { CommandContext } from '../context.ts';
import { reconcileRun, setQuota, showQuota } from './quota.ts';

const RUN = 'run_0123456789abcdefghijklmnop' as RunId;
const RESERVATION = 'res_0123456789abcdefghijklmnop';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const dataSource = await openDataSource({ url: database.url, connectionLimit: 1 });
  await dataSource.query(`INSERT INTO tenants (id, name, created_at) VALUES ('ten_a', 'default', NOW(3)), ('ten_b', 'other', NOW(3))`);
  await dataSource.query(`INSERT INTO budgets (root_run_id, tenant_id, limit_microcredits, spent_microcredits) VALUES ('${RUN}', 'ten_a', 9000000, 2000000)`);
  await dataSource.query(`INSERT INTO reservations (id, tenant_id, root_run_id, run_id, effect_key, operation, estimate_microcredits, charge_microcredits, state, created_at, settled_at)
    VALUES ('${RESERVATION}', 'ten_a', '${RUN}', '${RUN}', 'spec', 'read', 2000000, 2000000, 'unknown', NOW(3), NOW(3))`);
  await dataSource.destroy();
});
afterAll(() => database?.drop());

async function printed(command: (context: CommandContext, options: { database: string }) => Promise<number>): Promise<unknown> {
  const lines: string[] = [];
  const context = { config: { QUAESTOR_DIRECTORY: '/nowhere' }, terminal: { print: async (text: string) => void lines.push(text) }, log: () => undefined } as unknown as CommandContext;
  expect(await command(context, { database: database.url })).toBe(0);
  return JSON.parse(lines.join('\n'));
}

describe('quota', () => {
  it('is set by the name of a tenant, and shown for all of them', async () => {
    expect(await printed((context, options) => setQuota(context, 'other', 50.5, options))).toMatchObject({ tenant_id: 'ten_b', limit: 50.5, left: 50.5 });
    expect(await printed((context, options) => showQuota(context, undefined, options))).toEqual([
      { tenant_id: 'ten_a', name: 'default', limit: null, held: 0, spent: 0, overruns: 0, left: null },
      { tenant_id: 'ten_b', name: 'other', limit: 50.5, held: 0, spent: 0, overruns: 0, left: 50.5 },
    ]);
    expect(await printed((context, options) => setQuota(context, 'ten_b', null, options))).toMatchObject({ limit: null });
  });
});

describe('reconcile', () => {
  const listed = { reservation_id: RESERVATION, operation: 'read', credits: 2, given_up_at: expect.any(String) };

  it('lists unknown outcomes, and books all true charges or none', async () => {
    expect(await printed((context, options) => reconcileRun(context, RUN, [], options))).toEqual([listed]);
    const wrong = [`${RESERVATION}=0.5`, 'res_9123456789abcdefghijklmnop=1'];
    await expect(printed((context, options) => reconcileRun(context, RUN, wrong, options))).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await expect(printed((context, options) => reconcileRun(context, RUN, [`${RESERVATION}=-1`], options))).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await printed((context, options) => reconcileRun(context, RUN, [], options))).toEqual([listed]);
    expect(await printed((context, options) => reconcileRun(context, RUN, [`${RESERVATION}=0.5`], options))).toEqual([]);
  });
});
