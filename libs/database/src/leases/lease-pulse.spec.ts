import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntil } from '#testing';
import { JournalWorld } from '../spec-support/journal-world.ts';
import { LeasePulse } from './lease-pulse.ts';

let world: JournalWorld;
beforeAll(async () => {
  world = await JournalWorld.open();
});
afterAll(() => world?.close());

const isKept = async (owner: string): Promise<boolean> => Number(await world.one('SELECT COUNT(*) FROM lease_owners WHERE owner = ? AND expires_at > NOW(3)', [owner])) === 1;

/** Nothing else of this process runs meanwhile. */
const block = (ms: number): void => {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
};

async function withPulse(owner: string, blockedMaxMs: number, work: (pulse: LeasePulse) => Promise<void>): Promise<void> {
  const pulse = new LeasePulse({ url: world.database.url, owner, leaseTtlMs: 600, intervalMs: 50, blockedMaxMs, onError: (error) => expect.fail(String(error)) });
  try {
    pulse.hold(true);
    const alive = setInterval(() => pulse.alive(), 20);
    await waitUntil(() => isKept(owner), { what: 'the first beat' });
    await work(pulse);
    clearInterval(alive);
  } finally {
    await pulse.stop();
  }
}

it('[Q-03] keeps the leases of a process whose event loop is busy', () =>
  withPulse('busy', 10_000, async () => {
    block(2_000);
    expect(await isKept('busy')).toBe(true);
  }));

it('[Q-09] gives up a process whose event loop is stuck', () =>
  withPulse('stuck', 500, async () => {
    block(2_500);
    expect(await isKept('stuck')).toBe(false);
  }));

it('beats only while runs are held', () =>
  withPulse('idle', 10_000, async (pulse) => {
    pulse.hold(false);
    await waitUntil(async () => !(await isKept('idle')), { what: 'the last beat to run out' });
  }));

it('[Q-30] stops at once, at whatever moment of its start it is told to', async () => {
  for (let delayMs = 0; delayMs < 200; delayMs += 10) {
    const pulse = new LeasePulse({ url: world.database.url, owner: 'brief', leaseTtlMs: 600, intervalMs: 50, blockedMaxMs: 10_000, onError: (error) => expect.fail(String(error)) });
    await sleep(delayMs);
    const stopped = await Promise.race([pulse.stop().then(() => true), sleep(10_000, false)]);
    expect(stopped, `after ${delayMs} ms`).toBe(true);
  }
}, 60_000);
