import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LeaseRepository, openDataSource, RunJournalRepository, Sql } from '#database';
import type { ClaimedRun } from '#domain';
import { randomBytes } from 'node:crypto';
import { AgentWorld, TcpProxy, waitUntil } from '#testing';
import type { RunId } from '#contracts';
import { LeaseKeeper } from './lease-keeper.ts';

const TTL_MS = 400;
const INTERVAL_MS = 40;

let world: AgentWorld;
let proxy: TcpProxy;
let sql: Sql;
let closeSql: () => Promise<void>;
let errors: unknown[] = [];
let keepers: LeaseKeeper[] = [];

beforeAll(async () => {
  world = await AgentWorld.open();
  proxy = await TcpProxy.open(world.database.url);
  const dataSource = await openDataSource({ url: proxy.url, connectionLimit: 4 });
  sql = new Sql(dataSource);
  closeSql = () => dataSource.destroy();
});
afterEach(async () => {
  await proxy.heal();
  await Promise.all(keepers.map((keeper) => keeper.close()));
  keepers = [];
  errors = [];
});
afterAll(async () => {
  await closeSql();
  await proxy.close();
  await world.close();
});

function newKeeper(owner: string): LeaseKeeper {
  const leases = new LeaseRepository(sql, { owner, leaseTtlMs: TTL_MS });
  const keeper = new LeaseKeeper({ leases, intervalMs: INTERVAL_MS, ttlMs: TTL_MS, onError: (error) => errors.push(error) });
  keepers.push(keeper);
  return keeper;
}

const journalOf = (owner: string) => new RunJournalRepository(world.sql, { owner, leaseTtlMs: TTL_MS, randomBytes: () => randomBytes(17) });

async function claim(owner: string, runId?: RunId): Promise<ClaimedRun> {
  const id = runId ?? (await world.newRun()).runId;
  return (await journalOf(owner).claim(id, () => []))!;
}

const lapse = async (runId: RunId) => world.sql.batch([
  { sql: 'UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 MINUTE WHERE id = ?', values: [runId] },
  { sql: `DELETE FROM lease_owners WHERE owner = (SELECT lease_owner FROM runs WHERE id = ?)`, values: [runId] },
]);
const codeOf = (signal: AbortSignal): unknown => (signal.reason as { code?: string } | undefined)?.code;
const abortOf = (signal: AbortSignal) => waitUntil(() => signal.aborted && codeOf(signal), { what: 'the abort', intervalMs: 5, timeoutMs: 5_000 });
const beats = async (keeper: LeaseKeeper, owner: string): Promise<void> => {
  const expiry = () => world.one<Date>('SELECT expires_at FROM lease_owners WHERE owner = ?', [owner]);
  const before = await expiry();
  await waitUntil(async () => Number(await expiry()) > Number(before ?? 0), { what: `a heartbeat of ${keeper.size} runs`, intervalMs: 5 });
};

describe('[Q-03] a run that is held', () => {
  it('stays with its process far beyond its term', async () => {
    const keeper = newKeeper('steady');
    const claimed = await claim('steady');
    const signal = keeper.hold(claimed);
    const untilMs = performance.now() + TTL_MS * 2;
    await waitUntil(() => performance.now() > untilMs, { what: 'two terms' });
    expect(await journalOf('thief').claim(claimed.fence.runId, () => [])).toBeNull();
    expect(signal.aborted).toBe(false);
    keeper.drop(claimed.fence);
  });

  it('is aborted with LEASE_LOST once another process has it', async () => {
    const keeper = newKeeper('loser');
    const claimed = await claim('loser');
    const signal = keeper.hold(claimed);
    await lapse(claimed.fence.runId);
    await claim('winner', claimed.fence.runId);
    expect(await abortOf(signal)).toBe('LEASE_LOST');
  });

  it('[Q-18] is aborted with RUN_CANCELLED by the next heartbeat after a cancel', async () => {
    const keeper = newKeeper('cancelled');
    const { runId, tenantId } = await world.newRun();
    const signal = keeper.hold(await claim('cancelled', runId));
    await world.cancels.request(tenantId, runId);
    const startedMs = performance.now();
    expect(await abortOf(signal)).toBe('RUN_CANCELLED');
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });

  it('is left alone when it is held again under a newer claim, whatever becomes of the older one', async () => {
    const keeper = newKeeper('again');
    const first = await claim('again');
    const older = keeper.hold(first);
    await lapse(first.fence.runId);
    const second = await claim('again', first.fence.runId);
    const newer = keeper.hold(second);
    expect(codeOf(older)).toBe('LEASE_LOST');
    keeper.drop(first.fence);
    expect(keeper.size).toBe(1);
    await beats(keeper, 'again');
    expect(newer.aborted).toBe(false);
    keeper.drop(second.fence);
    expect(keeper.size).toBe(0);
    await keeper.abandon(second.fence);
    const third = await claim('again', first.fence.runId);
    const newest = keeper.hold(third);
    await beats(keeper, 'again');
    expect(newest.aborted).toBe(false);
  });
});

it('[Q-09] a connection that does not answer is given up, and the next one beats', async () => {
  const dataSource = await openDataSource({ url: proxy.url, connectionLimit: 1 });
  const impatient = new Sql(dataSource, { answerTimeoutMs: 200 });
  const keeper = new LeaseKeeper({ leases: new LeaseRepository(impatient, { owner: 'impatient', leaseTtlMs: TTL_MS }), intervalMs: INTERVAL_MS, ttlMs: TTL_MS, onError: (error) => errors.push(error) });
  keepers.push(keeper);
  const signal = keeper.hold(await claim('impatient'));
  await beats(keeper, 'impatient');
  proxy.hold();
  expect(await abortOf(signal)).toBe('LEASE_LOST');
  await waitUntil(() => errors.some((error) => (error as Error).message.includes('did not answer')), { what: 'the end of the wait', intervalMs: 5 });
  await proxy.heal();
  keeper.hold(await claim('impatient'));
  await beats(keeper, 'impatient');
  await keeper.close();
  keepers = keepers.filter((one) => one !== keeper);
  await dataSource.destroy();
});

describe('[Q-03] a process that cannot reach the database', () => {
  it.each(['down', 'hold'] as const)('(%s) for longer than the lease aborts what it holds, and not before', async (how) => {
    const keeper = newKeeper(`unreachable-${how}`);
    const signal = keeper.hold(await claim(`unreachable-${how}`));
    await beats(keeper, `unreachable-${how}`);
    const startedMs = performance.now();
    await proxy[how]();
    expect(await abortOf(signal)).toBe('LEASE_LOST');
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(TTL_MS / 2);
    expect(tookMs).toBeLessThan(TTL_MS + 1_000);
  });

  it('[M12] only slowly keeps what it holds', async () => {
    const keeper = newKeeper('slow');
    const signal = keeper.hold(await claim('slow'));
    await beats(keeper, 'slow');
    // a beat takes half of the lease
    proxy.poison({ latencyMs: TTL_MS / 4 });
    for (let beat = 0; beat < 4; beat++) await beats(keeper, 'slow');
    proxy.receipts.require('latency');
    expect(signal.aborted).toBe(false);
  });

  it('for less than the lease goes on', async () => {
    const keeper = newKeeper('flaky');
    const signal = keeper.hold(await claim('flaky'));
    await beats(keeper, 'flaky');
    await proxy.down();
    await waitUntil(() => errors.length > 0, { what: 'a failed heartbeat', intervalMs: 2 });
    await proxy.heal();
    await beats(keeper, 'flaky');
    expect(signal.aborted).toBe(false);
  });
});

describe('[Q-15] a run that its process abandons', () => {
  it('lapses although the process keeps others', async () => {
    const keeper = newKeeper('busy');
    const [kept, left] = [await claim('busy'), await claim('busy')];
    keeper.hold(kept);
    keeper.hold(left);
    await beats(keeper, 'busy');
    await keeper.abandon(left.fence);
    expect(await journalOf('other').claim(left.fence.runId, () => [])).not.toBeNull();
    expect(await journalOf('other').claim(kept.fence.runId, () => [])).toBeNull();
  });

  it('lapses also when the database was away at that moment', async () => {
    const keeper = newKeeper('later');
    const [kept, left] = [await claim('later'), await claim('later')];
    keeper.hold(kept);
    keeper.hold(left);
    await proxy.down();
    await keeper.abandon(left.fence);
    await proxy.heal();
    const stolen = await waitUntil(() => journalOf('other').claim(left.fence.runId, () => []), { what: 'the claim', timeoutMs: 5_000 });
    expect(stolen.fence.leaseEpoch).toBe(left.fence.leaseEpoch + 1);
  });

  it('is not taken from whoever has it by then', async () => {
    const keeper = newKeeper('late');
    const claimed = await claim('late');
    keeper.hold(claimed);
    await lapse(claimed.fence.runId);
    await claim('successor', claimed.fence.runId);
    await keeper.abandon(claimed.fence);
    expect((await world.run(claimed.fence.runId))['lease_owner']).toBe('successor');
  });
});

describe('[Q-18] a hint that a root run was cancelled', () => {
  /** Whose next beat is far away. */
  function lazyKeeper(owner: string): LeaseKeeper {
    const keeper = new LeaseKeeper({ leases: new LeaseRepository(sql, { owner, leaseTtlMs: TTL_MS }), intervalMs: 600_000, ttlMs: TTL_MS, onError: (error) => errors.push(error) });
    keepers.push(keeper);
    return keeper;
  }

  it('is looked up at once, and heeded when the rows say so', async () => {
    const keeper = lazyKeeper('hinted');
    const [claimed, other] = [await claim('hinted'), await claim('hinted')];
    const [signal, otherSignal] = [keeper.hold(claimed), keeper.hold(other)];
    await keeper.look(claimed.fence.runId);
    expect(signal.aborted).toBe(false);
    for (const { fence } of [claimed, other]) await world.cancels.request(fence.tenantId, fence.runId);
    await keeper.look(claimed.fence.runId);
    expect([codeOf(signal), otherSignal.aborted]).toEqual(['RUN_CANCELLED', false]);
  });

  it('of a run that nobody holds here does nothing', async () => {
    const keeper = lazyKeeper('deaf');
    const signal = keeper.hold(await claim('deaf'));
    await keeper.look((await claim('elsewhere')).fence.runId);
    expect(errors).toEqual([]);
    expect(signal.aborted).toBe(false);
  });
});
