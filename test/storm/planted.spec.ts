import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, it } from 'vitest';
import { environment } from '#platform';

const ROOT = path.resolve(import.meta.dirname, '../..');
const TIMEOUT_MS = 300_000;

async function storm(plantedFault: string, points: string): Promise<{ report: Record<string, number>; code: number | null; output: string }> {
  const args = ['scripts/run.mjs', 'test/storm/main', '--runs', '14', '--kills', '14', '--seed', '7', '--points', points, '--json', '--discard'];
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...environment(), NODE_OPTIONS: '', PLANTED_FAULT: plantedFault }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  const line = /^\{.*\}$/m.exec(output)?.[0] ?? '{}';
  return { report: JSON.parse(line) as Record<string, number>, code, output };
}

it.each([
  ['forget-lost-attempts', 'K08,K10', 'unrecorded'],
])('a storm sees the planted bug %s', { timeout: TIMEOUT_MS }, async (fault, points, figure) => {
  const { report, code, output } = await storm(fault, points);
  expect(report[figure], output).toBeGreaterThan(0);
  expect(code, output).toBe(1);
});
