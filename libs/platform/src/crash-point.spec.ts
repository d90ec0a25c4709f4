import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const module = fileURLToPath(new URL('./crash-point.ts', import.meta.url));
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
});
