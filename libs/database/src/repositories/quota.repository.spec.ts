import { afterAll, beforeAll, expect, it } from 'vitest';
import { credits, JournalWorld } from '../spec-support/journal-world.ts';
import { QuotaRepository } from './quota.repository.ts';

let world: JournalWorld;
let quotas: QuotaRepository;
beforeAll(async () => {
  world = await JournalWorld.open();
  quotas = new QuotaRepository(world.sql);
});
afterAll(() => world?.close());

it('[Q-12] bounds what all runs of a tenant hold and spend, from the next run on', async () => {
  expect(await quotas.list()).toEqual([{ tenantId: world.tenantId, name: 'tenant', limit: null, held: 0, spent: 0, overrun: 0 }]);
  await quotas.set('tenant', credits(150));
  await world.newRun({ budgetCredits: 100 });
  await expect(world.newRun({ budgetCredits: 100 })).rejects.toMatchObject({ code: 'QUOTA_EXHAUSTED' });
  expect(await quotas.list(world.tenantId)).toMatchObject([{ limit: credits(150), held: credits(100) }]);
  await quotas.set(world.tenantId, credits(200));
  await world.newRun({ budgetCredits: 100 });
});

it('is not set below what is held, and can be taken away', async () => {
  await expect(quotas.set('tenant', credits(199))).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  expect(await quotas.set('tenant', null)).toMatchObject({ limit: null });
  await world.newRun({ budgetCredits: 1_000 });
});

it('names a tenant that is not there', async () => {
  await expect(quotas.set('nobody', 1)).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'There is no tenant "nobody".' });
});
