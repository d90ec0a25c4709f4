import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, it } from 'vitest';
import { environment } from '#platform';

const ROOT = path.resolve(import.meta.dirname, '../..');
const TIMEOUT_MS = 240_000;

async function acceptance(plantedFault: string): Promise<{ lines: Record<string, string>; code: number | null; output: string }> {
  const child = spawn(process.execPath, ['scripts/run.mjs', 'test/acceptance/main'], { cwd: ROOT, env: { ...environment(), NODE_OPTIONS: '', PLANTED_FAULT: plantedFault }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  return { lines: Object.fromEntries([...output.matchAll(/^([A-Z_]+)=(.*)$/gm)].map((match) => [match[1]!, match[2]!])), code, output };
}

it.each([
  ['swap-thread-ids', 'SHARED_SCRATCHPAD', 'WORKER_FAILURE_LIFECYCLE'],
  ['partial-is-success', 'WORKER_FAILURE_LIFECYCLE', 'SHARED_SCRATCHPAD'],
])('acceptance sees the planted bug %s', { timeout: TIMEOUT_MS }, async (fault, redLine, greenLine) => {
  const { lines, code, output } = await acceptance(fault);
  expect(lines[redLine], output).toMatch(/^FAIL /);
  expect(lines[greenLine], output).toBe('PASS');
  expect(code).toBe(1);
});
