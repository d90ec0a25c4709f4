import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import mysql, { type Connection } from 'mysql2/promise';
import type { PulseData } from './lease-pulse.ts';

/*
 * The thread behind `LeasePulse`. It imports nothing of ours at run time, so that it starts from source and from a build alike. It keeps
 * one row alive as long as its process holds runs and the process's own event loop has turned recently.
 */
const { url, owner, leaseTtlMs, intervalMs, blockedMaxMs, shared } = workerData as PulseData;
const [STATE, ALIVE_AT] = [0, 1] as const;
const [IDLE, HOLDING, STOPPED] = [0n, 1n, 2n] as const;
const cells = new BigInt64Array(shared);
const NANOSECONDS_PER_MS = 1_000_000n;
const IDLE_WAIT_MS = 60_000;

const isOwed = (): boolean =>
  Atomics.load(cells, STATE) === HOLDING && process.hrtime.bigint() - Atomics.load(cells, ALIVE_AT) < BigInt(blockedMaxMs) * NANOSECONDS_PER_MS;

let connection: Connection | undefined;

async function connect(): Promise<Connection> {
  const opened = await mysql.createConnection({ uri: url, connectTimeout: leaseTtlMs });
  opened.on('error', () => (connection = undefined));
  // times are compared with those of other sessions, which all speak UTC
  await opened.query("SET SESSION time_zone = '+00:00', innodb_lock_wait_timeout = 1");
  return opened;
}

async function beat(): Promise<void> {
  // one that was idle for long may have ended unnoticed
  if ((await beaten()) || (await beaten())) return;
}

async function beaten(): Promise<boolean> {
  try {
    connection ??= await connect();
    await connection.query({
      sql: `INSERT INTO lease_owners (owner, expires_at) VALUES (?, NOW(3) + INTERVAL ? MICROSECOND)
        ON DUPLICATE KEY UPDATE expires_at = NOW(3) + INTERVAL ? MICROSECOND`,
      values: [owner, leaseTtlMs * 1000, leaseTtlMs * 1000],
      timeout: leaseTtlMs,
    });
    return true;
  } catch {
    // the next beat tries a new connection; a lease that lapses meanwhile is what leases are for
    connection?.destroy();
    connection = undefined;
    return false;
  }
}

while (Atomics.load(cells, STATE) !== STOPPED) {
  // a process without runs costs nothing; the other end wakes this one
  Atomics.wait(cells, STATE, IDLE, IDLE_WAIT_MS);
  if (isOwed()) await beat();
  await sleep(intervalMs);
}
