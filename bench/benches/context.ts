import type { Bench } from '../bench.ts';
import { ask } from '../rig/ask.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { startRig } from '../rig/rig.ts';

const SHAPES = [
  { workers: 1, calls: 6 },
  { workers: 4, calls: 6 },
  { workers: 16, calls: 6 },
  { workers: 4, calls: 12 },
] as const;

interface Row {
  workers: number;
  calls: number;
  supervisorBytes: number;
  supervisorPeakBytes: number;
  workerBytes: number;
  workerPeakBytes: number;
}

export const contextBench: Bench = {
  name: 'context',
  description: 'bytes sent to the model as workers and pages grow: the supervisor must see findings, never pages',
  defaults: { runs: 1, warm: 0 },
  async run({ log }) {
    const rig = await startRig({ env: { RESEARCH_WORKER_MAX_TURNS: '16' } });
    try {
      const load = watchMachine(rig.allPids);
      const rows: Row[] = [];
      for (const { workers, calls } of SHAPES) {
        log(`${workers} workers x ${calls} calls ...`);
        const { token, status } = await ask(rig, `context(n${workers},k${calls})`);
        const record = await rig.model.run(token);
        const { supervisor, worker } = record?.roles ?? {};
        if (status !== 'completed' || supervisor === undefined || worker === undefined) throw new Error(`The run with ${workers} workers ended ${status}.`);
        rows.push({ workers, calls, supervisorBytes: supervisor.bytes, supervisorPeakBytes: supervisor.peakBytes, workerBytes: worker.bytes, workerPeakBytes: worker.peakBytes });
      }
      return present(rows, load());
    } finally {
      await rig.stop();
    }
  },
};

function present(rows: Row[], machine: ReturnType<ReturnType<typeof watchMachine>>) {
  const [one, four, sixteen, deeper] = rows as [Row, Row, Row, Row];
  const perWorker = (sixteen.supervisorPeakBytes - one.supervisorPeakBytes) / 15;
  const growthWithPages = deeper.supervisorPeakBytes - four.supervisorPeakBytes;
  const verdict = growthWithPages <= 0.02 * four.supervisorPeakBytes ? 'it grows with findings, not with pages' : 'IT GROWS WITH PAGES';
  const kilobytes = (bytes: number): string => (bytes / 1_000).toFixed(1).padStart(9);
  return {
    lines: [
      'workers x calls | supervisor: all KB   largest KB | workers: all KB   largest KB',
      ...rows.map((row) => `${String(row.workers).padStart(7)} x ${String(row.calls).padEnd(5)} |${kilobytes(row.supervisorBytes).padStart(20)}${kilobytes(row.supervisorPeakBytes).padStart(13)} |${kilobytes(row.workerBytes).padStart(16)}${kilobytes(row.workerPeakBytes).padStart(13)}`),
      `the supervisor's largest prompt grows by ${Math.round(perWorker)} bytes per worker and by ${growthWithPages} bytes from 6 to 12 calls a worker: ${verdict}`,
      describeLoad(machine),
    ],
    figures: { rows, bytesPerWorker: perWorker, growthWithPages, machine },
  };
}
