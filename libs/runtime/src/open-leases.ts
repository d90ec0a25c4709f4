import { LeasePulse, LeaseRepository } from '#database';
import { listenToCancels } from '#queue';
import { LeaseKeeper } from './lease-keeper.ts';
import type { Runtime } from './runtime.ts';

/** The leases of one process: its rows, its pulse, and the keeper that holds runs by them and hears of their cancels. */
export function openLeases(runtime: Runtime): { rows: LeaseRepository; keeper: LeaseKeeper } {
  const { config, owner } = runtime;
  const onError = (error: unknown): void => runtime.report('heartbeat', error);
  const options = { owner, leaseTtlMs: config.LEASE_TTL_MS };
  const pulse = new LeasePulse({
    url: config.DATABASE_URL,
    owner,
    leaseTtlMs: config.LEASE_TTL_MS,
    intervalMs: config.HEARTBEAT_INTERVAL_MS,
    blockedMaxMs: config.EVENT_LOOP_BLOCKED_MAX_MS,
    onError,
  });
  const keeper = new LeaseKeeper({ leases: new LeaseRepository(runtime.leaseSql, options), pulse, intervalMs: config.HEARTBEAT_INTERVAL_MS, ttlMs: config.LEASE_TTL_MS, onError });
  listenToCancels(runtime.connect('consumer'), runtime.cancelsChannel, (rootRunId) => void keeper.look(rootRunId));
  return {
    // look-ups come by the hundred: on the connection of the heartbeat they would hold it up
    rows: new LeaseRepository(runtime.sql, options),
    keeper,
  };
}
