import { defineConfig } from 'vitest/config';
import { MUTANTS } from './test/mutants/mutants/index.ts';
import { plantMutant } from './test/mutants/vite-plugin.ts';

const conditions = ['source', 'module', 'node', 'development|production'];

/** A guard to take out, set by `npm run mutants` alone. */
const mutant = process.env.MUTANT;

/** One configuration for every level; a test that needs MySQL or Redis asks `libs/testing` for the shared private instances. */
export default defineConfig({
  plugins: mutant ? [plantMutant(MUTANTS, mutant)] : [],
  ssr: { resolve: { conditions } },
  resolve: { conditions: ['source'] },
  // the global set-up too runs from the sources: specs need no build, and never see an old one
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    include: ['apps/**/*.spec.ts', 'libs/**/*.spec.ts', 'test/**/*.spec.ts', 'bench/**/*.spec.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    globalSetup: ['libs/testing/src/vitest-global-setup.ts'],
    maxWorkers: 2,
    // what was kept of earlier runs still has its guard
    fsModuleCache: !mutant,
  },
});
