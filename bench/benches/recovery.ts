import type { RowDataPacket } from 'mysql2/promise';
import { waitUntil } from '#testing';
import type { Bench } from '../bench.ts';
import { ask } from '../rig/ask.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { startRig, type Rig } from '../rig/rig.ts';
import { quantile, rounded } from '../rig/statistics.ts';

/** Long enough for its workers to be met in mid-call; the finished calls of the run say what was made again. */
const SCRIPT = 'bench(n1,k3,t60,m40,e20,d15)';
const LOOK_INTERVAL_MS = 10;
const TAKEOVER_TIMEOUT_MS = 60_000;

interface Held extends RowDataPacket {
  id: string;
  lease_owner: string;
  lease_epoch: number;
}

export const recoveryBench: Bench = {
  name: 'recovery',
  description: 'time from SIGKILL of a worker or supervisor until another process has claimed its run, nobody asking',
  defaults: { runs: 30, warm: 1 },
  async run({ runs, warm, log }) {
    const rig = await startRig({ workers: 2, supervisors: 2 });
    try {
      for (let i = 0; i < warm; i++) await ask(rig, 'bench()');
      const load = watchMachine(rig.allPids);
      const tookMs: number[] = [];
      for (let kill = 0; kill < runs; kill++) {
        const service = kill % 3 === 2 ? 'supervisor' : 'worker';
        tookMs.push(await recoverOnce(rig, service));
        log(`${kill + 1}/${runs} ${service}: ${Math.round(tookMs.at(-1)!)} ms`);
      }
      const machine = load();
      const [repeated, failed] = [await countRepeated(rig), await countFailed(rig)];
      const figures = { kills: tookMs.length, p50Ms: quantile(tookMs, 0.5), p95Ms: quantile(tookMs, 0.95), maxMs: Math.max(...tookMs), repeated, failed, tookMs, machine };
      return {
        lines: [
          `${tookMs.length} kills: another process had the run after ${rounded(figures.p50Ms / 1_000)} s (median), ${rounded(figures.p95Ms / 1_000)} s (p95), ${rounded(figures.maxMs / 1_000)} s (longest)`,
          `settled turns that were made again: ${repeated}; runs that did not end as answered: ${failed}`,
          describeLoad(machine),
        ],
        figures,
      };
    } finally {
      await rig.stop();
    }
  },
};

/** Asks, kills the holder of a run of that role while it streams, and waits for the claim of another. */
async function recoverOnce(rig: Rig, service: 'worker' | 'supervisor'): Promise<number> {
  const asked = ask(rig, SCRIPT);
  asked.catch(() => undefined);
  const held = await waitUntil(() => heldBy(rig, service), { what: `a run that a ${service} holds`, intervalMs: LOOK_INTERVAL_MS, timeoutMs: TAKEOVER_TIMEOUT_MS });
  const pid = Number(held.lease_owner.split('-')[1]);
  process.kill(pid, 'SIGKILL');
  const killedAtMs = performance.now();
  await waitUntil(() => isTakenOver(rig, held), { what: `another claim of ${held.id}`, intervalMs: LOOK_INTERVAL_MS, timeoutMs: TAKEOVER_TIMEOUT_MS });
  const tookMs = performance.now() - killedAtMs;
  await asked;
  await waitUntil(() => rig.stack.pids()[service].length === 2 && !rig.stack.pids()[service].includes(pid), { what: `a new ${service}`, timeoutMs: TAKEOVER_TIMEOUT_MS });
  return tookMs;
}

async function heldBy({ database, stack }: Rig, service: 'worker' | 'supervisor'): Promise<Held | undefined> {
  const [rows] = await database.query<Held[]>(`SELECT id, lease_owner, lease_epoch FROM runs WHERE status = 'running' AND role = ? AND turn >= 1`, [service]);
  const pids = stack.pids()[service];
  return rows.find(({ lease_owner }) => pids.includes(Number(lease_owner.split('-')[1])));
}

async function isTakenOver({ database }: Rig, { id, lease_epoch }: Held): Promise<boolean> {
  const [rows] = await database.query<Held[]>('SELECT id FROM runs WHERE id = ? AND lease_epoch > ?', [id, lease_epoch]);
  return rows.length > 0;
}

/** Turns of which more than one attempt is settled as a message: the unique keys make it impossible, and the bench looks all the same. */
async function countRepeated({ database }: Rig): Promise<number> {
  const [rows] = await database.query<(RowDataPacket & { turns: number })[]>(`SELECT COUNT(*) AS turns FROM (SELECT 1 FROM attempts WHERE kind = 'message' GROUP BY run_id, turn HAVING COUNT(*) > 1) repeated`);
  return Number(rows[0]?.turns ?? 0);
}

async function countFailed({ database }: Rig): Promise<number> {
  const [rows] = await database.query<(RowDataPacket & { runs: number })[]>(`SELECT COUNT(*) AS runs FROM runs WHERE role = 'supervisor' AND COALESCE(stop_reason, '') <> 'answered'`);
  return Number(rows[0]?.runs ?? 0);
}
