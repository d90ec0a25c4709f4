import { defineConfig } from 'vitest/config';

/** One configuration for every level; a test that needs MySQL or Redis asks `libs/testing` for the shared private instances. */
export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'module', 'node', 'development|production'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['apps/**/*.spec.ts', 'libs/**/*.spec.ts', 'test/**/*.spec.ts', 'bench/**/*.spec.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    globalSetup: ['libs/testing/src/vitest-global-setup.ts'],
    maxWorkers: 2,
  },
});
