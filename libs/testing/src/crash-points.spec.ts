import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ABSENT_CRASH_POINTS, CRASH_POINTS } from './crash-points.ts';

const module = fileURLToPath(new URL('./crash-points.ts', import.meta.url));
const program = `const { crashPoint } = await import(${JSON.stringify(module)});
  for (let pass = 1; pass <= 3; pass++) { crashPoint('K06'); crashPoint('K07'); console.log(pass); }`;

function run(killAt?: string): { signal: string | null; passes: string } {
  const env = { ...process.env, ...(killAt ? { KILL_AT: killAt } : {}) };
  const { signal, stdout } = spawnSync(process.execPath, ['--conditions=source', '--input-type=module', '-e', program], { env, encoding: 'utf8' });
  return { signal, passes: stdout.replaceAll('\n', '') };
}

describe('crash points', () => {
  it('do nothing unless armed', () => expect(run()).toEqual({ signal: null, passes: '123' }));
  it('kill the process at the named point', () => expect(run('K07')).toEqual({ signal: 'SIGKILL', passes: '' }));
  it('count passes', () => expect(run('K07:3')).toEqual({ signal: 'SIGKILL', passes: '12' }));
  it('ignore other names', () => expect(run('K08')).toEqual({ signal: null, passes: '123' }));

  it('stand in the code where the table says, every one of the catalogue or the reason why not', () => {
    const root = path.resolve(import.meta.dirname, '../../..');
    const sources = globSync('{apps,libs}/*/src/**/*.ts', { cwd: root }).filter((file) => !file.startsWith('libs/testing/') && !file.endsWith('.spec.ts'));
    const named = sources.flatMap((file) => [...readFileSync(path.join(root, file), 'utf8').matchAll(/crashPoint\(([^)]*)\)/g)].flatMap(([, argument]) => argument?.match(/K\d\d/g) ?? []));
    expect([...new Set(named)].sort()).toEqual(Object.keys(CRASH_POINTS).sort());
    const catalogue = Array.from({ length: 30 }, (_, index) => `K${String(index + 1).padStart(2, '0')}`);
    expect([...Object.keys(CRASH_POINTS), ...Object.keys(ABSENT_CRASH_POINTS)].sort()).toEqual(catalogue);
  });
});
