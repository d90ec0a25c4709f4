import { availableParallelism, loadavg } from 'node:os';
import { cpuSeconds, machineCpuSeconds, treeCpuSeconds } from '#testing';
import { rounded } from './statistics.ts';

export interface MachineLoad {
  cores: number;
  loadAverage: number[];
  /** Cores that processes of nobody in this bench kept busy. A figure taken beside more than 0.3 is noisy. */
  coresUsedByOthers: number;
}

/** Watches what the rest of the machine does. `ownPids` are asked at the end too: processes that started meanwhile are ours. */
export function watchMachine(ownPids: () => number[]): () => MachineLoad {
  const ownSeconds = (): number => treeCpuSeconds(ownPids()) + cpuSeconds(process.pid);
  const startedMs = performance.now();
  const start = { machine: machineCpuSeconds(), own: ownSeconds() };
  return () => {
    const wallSeconds = (performance.now() - startedMs) / 1_000;
    const others = machineCpuSeconds() - start.machine - (ownSeconds() - start.own);
    return { cores: availableParallelism(), loadAverage: loadavg().map((value) => rounded(value)), coresUsedByOthers: rounded(Math.max(0, others) / wallSeconds) };
  };
}

export const describeLoad = ({ cores, loadAverage, coresUsedByOthers }: MachineLoad): string =>
  `machine: ${cores} cores, load ${loadAverage.join(' ')}, used by others ${coresUsedByOthers} cores${coresUsedByOthers > 0.3 ? ' (noisy)' : ''}`;
