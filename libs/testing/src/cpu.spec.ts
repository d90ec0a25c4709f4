import { spawn } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { cpuSeconds, machineCpuSeconds, processTree, treeCpuSeconds, treeResidentBytes } from './cpu.ts';
import { waitUntil } from './wait-until.ts';

const started: { kill(signal: NodeJS.Signals): boolean }[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

describe('process figures', () => {
  it('counts a process and its children', async () => {
    const child = spawn('sh', ['-c', 'sleep 30 & while :; do :; done'], { stdio: 'ignore', detached: true });
    started.push({ kill: (signal) => process.kill(-child.pid!, signal) });
    await waitUntil(() => processTree(child.pid!).length === 2, { what: 'the grandchild' });
    await waitUntil(() => treeCpuSeconds([child.pid!]) >= 0.05, { what: 'used CPU' });
    expect(treeResidentBytes([child.pid!])).toBeGreaterThan(100_000);
  });
  it('is 0 for a process that does not exist, and positive for the machine', () => {
    expect(cpuSeconds(2 ** 22 + 1)).toBe(0);
    expect(machineCpuSeconds()).toBeGreaterThan(0);
  });
});

describe('waitUntil', () => {
  it('returns the first real value', async () => {
    let looks = 0;
    expect(await waitUntil(() => (++looks < 3 ? null : looks), { what: 'three looks', intervalMs: 1 })).toBe(3);
  });
  it('names what it waited for, with the last error as cause', async () => {
    const failing = waitUntil(() => Promise.reject(new Error('down')), { what: 'the gateway', timeoutMs: 30, intervalMs: 5 });
    await expect(failing).rejects.toMatchObject({ message: expect.stringContaining('the gateway') as string, cause: { message: 'down' } });
  });
});
