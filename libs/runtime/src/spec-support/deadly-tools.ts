import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolSpec } from '#domain';
import { PLATFORM_TOOLS as SHIPPED } from '#tools';

const BYTES_PER_NUMBER = 8;

/** What reading an address of `/deadly/WHAT` does to the process it happens in. */
const DEADLY: Record<string, (parameter: string) => Promise<never> | void> = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  memory: eatMemory,
  hang: () => new Promise<never>(() => undefined),
  block: (ms) => block(Number(ms)),
};

function eatMemory(): never {
  const kept: number[][] = [];
  for (;;) kept.push(new Array<number>((8 * 1024 * 1024) / BYTES_PER_NUMBER).fill(kept.length + 0.5));
}

function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** A page reader that can kill, fill, hang or block its process, and reads all other pages as ever. */
function deadly(spec: ToolSpec): ToolSpec {
  return {
    ...spec,
    async execute(args, caller, ports, signal) {
      const [, what = '', parameter = ''] = /\/deadly\/(\w+)\/?(\d*)/.exec((args as { url: string }).url) ?? [];
      const foreign = what === 'foreign' ? { ...caller, tenantId: 'ten_other' as typeof caller.tenantId, rootRunId: 'run_other' as typeof caller.rootRunId } : caller;
      if (what === 'environment') return { kind: 'settled', result: { kind: 'text', text: Object.keys(process.env).sort().join(' ') } };
      await DEADLY[what]?.(parameter);
      // a signal to oneself takes a moment
      if (what === 'kill') await sleep(60_000);
      return what === 'block' ? { kind: 'settled', result: { kind: 'text', text: 'blocked' } } : spec.execute(args, foreign, ports, signal);
    },
  };
}

export const PLATFORM_TOOLS: readonly ToolSpec[] = SHIPPED.map((spec) => (spec.name === 'read_web_page' ? deadly(spec) : spec));
