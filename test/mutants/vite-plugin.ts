import path from 'node:path';
import type { Plugin } from 'vite';
import { plant, type Mutant } from './mutant.ts';

/**
 * Takes out one guard while specs are loaded. It works on the text of one module inside the test process: no switch exists in the sources,
 * let alone in a build.
 */
export function plantMutant(mutants: readonly Mutant[], name: string): Plugin {
  const mutant = mutants.find((candidate) => candidate.name === name);
  if (!mutant) throw new Error(`There is no mutant ${name}: "npm run mutants -- --list" names them.`);
  const file = path.resolve(import.meta.dirname, '../..', mutant.file);
  return {
    name: 'plant-mutant',
    enforce: 'pre',
    transform: (source, id) => (id.split('?')[0] === file ? { code: plant(mutant, source), map: null } : undefined),
  };
}
