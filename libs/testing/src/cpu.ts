import { readdirSync, readFileSync } from 'node:fs';

/** Linux only: everything here reads /proc. A process that has ended counts as 0. */
const TICKS_PER_SECOND = 100;

/** A process and all its descendants, parents first. */
export function processTree(pid: number): number[] {
  const found = [pid];
  for (let i = 0; i < found.length; i++) found.push(...childrenOf(found[i]!));
  return found;
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) => numbersIn(readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')));
  } catch {
    return [];
  }
}

const numbersIn = (text: string): number[] => text.trim().split(/\s+/).filter(Boolean).map(Number);

function statFields(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the command name may hold spaces and brackets; fields count from after it
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** CPU seconds, user and system, of one process and of its children that have ended and were waited for. */
export function cpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0) / TICKS_PER_SECOND;
}

/** CPU seconds of whole process trees. */
export const treeCpuSeconds = (pids: readonly number[]): number => sumOver(pids, cpuSeconds);

/** Resident memory of one process in bytes. */
export function residentBytes(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}

/** Resident memory of whole process trees; pages that processes share count once for each. */
export const treeResidentBytes = (pids: readonly number[]): number => sumOver(pids, residentBytes);

const sumOver = (pids: readonly number[], measure: (pid: number) => number): number =>
  [...new Set(pids.flatMap(processTree))].reduce((sum, pid) => sum + measure(pid), 0);

/** Busy CPU seconds of the whole machine since it started. */
export function machineCpuSeconds(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = numbersIn(readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.replace('cpu', ''));
  return (user + nice + system + irq + softIrq + steal) / TICKS_PER_SECOND;
}
