import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { plant } from './mutant.ts';
import { MUTANTS } from './mutants/index.ts';
import { plantMutant } from './vite-plugin.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

describe('mutants', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s changes a guard that is there, and its test exists', (_name, mutant) => {
    expect(plant(mutant, textOf(mutant.file))).not.toBe(textOf(mutant.file));
    expect(existsSync(path.join(ROOT, mutant.owner.spec))).toBe(true);
    expect(textOf(mutant.owner.spec)).toContain(mutant.owner.title);
  });

  it('have a name each', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it('refuse a guard that moved, and a name that is not there', () => {
    expect(() => plant(MUTANTS[0]!, 'another text')).toThrow('stands 0 times');
    expect(() => plantMutant(MUTANTS, 'no-such-guard')).toThrow('There is no mutant no-such-guard');
  });

  it('exist in no source', () => {
    expect(textOf('libs/domain/src/planted-none.ts')).toContain('=> false');
    for (const { file } of MUTANTS) expect(textOf(file)).not.toContain('MUTANT');
  });
});
