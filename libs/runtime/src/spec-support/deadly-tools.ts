import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolSpec } from '#domain';
import { PLATFORM_TOOLS as SHIPPED } from '#tools';

const BYTES_PER_NUMBER = 8;

/** What reading an address of `/deadly/WHAT` does to the process it happens in. */
const DEADLY: Record<string, (parameter: string, url: URL) => Promise<never> | void> = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  memory: eatMemory,
  hang: () => new Promise<never>(() => undefined),
  block: (ms) => block(Number(ms)),
  gate: (_parameter, url) => waitAtGate(url.searchParams.get('folder') ?? ''),
};

function eatMemory(): never {
  const kept: number[][] = [];
  for (;;) kept.push(new Array<number>((8 * 1024 * 1024) / BYTES_PER_NUMBER).fill(kept.length + 0.5));
}

function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

const GATE_POLL_MS = 20;

/** Blocks the process, the n-th one in this folder until there is a file `go-<n>`; says with a folder `at-gate-<n>` that it does. */
function waitAtGate(folder: string): void {
  let position = 1;
  while (!takePlace(path.join(folder, `at-gate-${position}`))) position++;
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  while (!existsSync(path.join(folder, `go-${position}`))) Atomics.wait(cell, 0, 0, GATE_POLL_MS);
}

function takePlace(place: string): boolean {
  try {
    mkdirSync(place);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** A page reader that can kill, fill, hang or block its process, and reads all other pages as ever. */
function deadly(spec: ToolSpec): ToolSpec {
  return {
    ...spec,
    async execute(args, caller, ports, signal) {
      const [, what = '', parameter = ''] = /\/deadly\/(\w+)\/?(\d*)/.exec((args as { url: string }).url) ?? [];
      const foreign = what === 'foreign' ? { ...caller, tenantId: 'ten_other' as typeof caller.tenantId, rootRunId: 'run_other' as typeof caller.rootRunId } : caller;
      if (what === 'environment') return { kind: 'settled', result: { kind: 'text', text: Object.keys(process.env).sort().join(' ') } };
      await DEADLY[what]?.(parameter, new URL((args as { url: string }).url));
      // a signal to oneself takes a moment
      if (what === 'kill') await sleep(60_000);
      return what === 'block' || what === 'gate' ? { kind: 'settled', result: { kind: 'text', text: 'blocked' } } : spec.execute(args, foreign, ports, signal);
    },
  };
}

export const PLATFORM_TOOLS: readonly ToolSpec[] = SHIPPED.map((spec) => (spec.name === 'read_web_page' ? deadly(spec) : spec));
