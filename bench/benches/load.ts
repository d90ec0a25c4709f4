import type { RowDataPacket } from 'mysql2/promise';
import { treeResidentBytes } from '#testing';
import type { Bench } from '../bench.ts';
import { ask } from '../rig/ask.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { cpuByGroup, cpuSince, startRig, total, type Rig } from '../rig/rig.ts';
import { quantile, rounded } from '../rig/statistics.ts';

const SCRIPT = 'bench(n4,k6,t30,m400,e80,d20)';
const WARM_SCRIPT = 'bench(n4,k6,t30,m400,e80,d0)';
const SAMPLE_INTERVAL_MS = 250;

export const loadBench: Bench = {
  name: 'load',
  description: '200 runs at once, 20 ms per chunk: runs per second, peak memory of the services, failures',
  defaults: { runs: 200, warm: 5 },
  async run({ runs, warm, log }) {
    const rig = await startRig();
    try {
      for (let i = 0; i < warm; i++) await ask(rig, WARM_SCRIPT);
      await rig.model.reset();
      log(`${runs} runs at once ...`);
      const load = watchMachine(rig.allPids);
      const before = cpuByGroup(rig.processes());
      const memory = sampleMemory(() => Object.values(rig.stack.pids()).flat());
      const startedMs = performance.now();
      const asked = await Promise.allSettled(Array.from({ length: runs }, () => ask(rig, SCRIPT)));
      const wallSeconds = (performance.now() - startedMs) / 1_000;
      const peakBytes = memory();
      const cpu = cpuSince(before, rig.processes());
      const machine = load();
      const completed = asked.flatMap((result) => (result.status === 'fulfilled' && result.value.status === 'completed' ? [result.value] : []));
      const stats = await rig.model.stats();
      const lost = await countLost(rig);
      const failures = runs - completed.length;
      const walls = completed.map(({ wallMs }) => wallMs / 1_000);
      const runsPerSecond = completed.length / wallSeconds;
      const lines = [
        `${runs} runs at once: ${completed.length} completed, ${failures} failed, ${rounded(wallSeconds, 1)} s, ${rounded(runsPerSecond)} runs/s`,
        `wall of a run: median ${rounded(quantile(walls, 0.5), 1)} s, p95 ${rounded(quantile(walls, 0.95), 1)} s`,
        `peak memory of the services ${Math.round(peakBytes / 1e6)} MB; CPU ${rounded(total(cpu) / runs, 3)} s/run (${Object.entries(cpu).map(([name, seconds]) => `${name} ${rounded(seconds / runs, 3)}`).join(', ')})`,
        `model server: at most ${stats.openPeak} streams open, ${rounded(stats.meanLateMs, 1)} ms late on average, ${rounded(stats.maxLateMs, 0)} ms at most`,
        `model calls made again because a lease lapsed: ${lost}`,
        ...firstFailures(asked),
        describeLoad(machine),
      ];
      return { lines, figures: { runs, completed: completed.length, failures, lost, wallSeconds, runsPerSecond, peakBytes, cpuSecondsPerRun: total(cpu) / runs, cpu, modelServer: stats, machine } };
    } finally {
      await rig.stop();
    }
  },
};

/** Attempts whose run passed to another holder: under load, a process that came too late with its heartbeat. */
async function countLost({ database }: Rig): Promise<number> {
  const [rows] = await database.query<(RowDataPacket & { lost: number })[]>("SELECT COUNT(*) AS lost FROM attempts WHERE outcome = 'lost'");
  return Number(rows[0]?.lost ?? 0);
}

function sampleMemory(pids: () => number[]): () => number {
  let peakBytes = 0;
  const look = (): void => void (peakBytes = Math.max(peakBytes, treeResidentBytes(pids())));
  const timer = setInterval(look, SAMPLE_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    look();
    return peakBytes;
  };
}

const firstFailures = (asked: PromiseSettledResult<{ id: string; status: string }>[]): string[] =>
  asked
    .flatMap((result) => (result.status === 'rejected' ? [`failed: ${String(result.reason)}`] : result.value.status === 'completed' ? [] : [`failed: ${result.value.id} ended ${result.value.status}`]))
    .slice(0, 5);
