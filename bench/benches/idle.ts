import type { Bench } from '../bench.ts';
import { ask } from '../rig/ask.ts';
import { describeLoad, watchMachine } from '../rig/machine.ts';
import { cpuByGroup, cpuSince, startRig, total } from '../rig/rig.ts';
import { rounded } from '../rig/statistics.ts';

const SETTLE_MS = 5_000;
const WINDOW_MS = 60_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const idleBench: Bench = {
  name: 'idle',
  description: 'CPU seconds per minute of a stack without work, services and stores',
  defaults: { runs: 1, warm: 1 },
  async run({ warm, log }) {
    const rig = await startRig();
    try {
      for (let i = 0; i < warm; i++) await ask(rig, 'bench()');
      await pause(SETTLE_MS);
      log('watching for 60 s ...');
      const load = watchMachine(rig.allPids);
      const before = cpuByGroup(rig.processes());
      await pause(WINDOW_MS);
      const cpu = cpuSince(before, rig.processes());
      const machine = load();
      const parts = Object.entries(cpu).map(([name, seconds]) => `${name} ${rounded(seconds)}`);
      return { lines: [`idle: ${rounded(total(cpu))} CPU seconds per minute (${parts.join(', ')})`, describeLoad(machine)], figures: { cpuSecondsPerMinute: total(cpu), cpu, machine } };
    } finally {
      await rig.stop();
    }
  },
};
