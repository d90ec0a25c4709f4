import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const MINUTE_MS = 60_000;

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} shows  What is known when it passed.
 * @property {string[]} [args]  Arguments of the pinned Node; the step passes when it ends with 0.
 * @property {number} [timeoutMs]
 * @property {RegExp} [figure]  Its last match in the output is shown in the summary.
 * @property {() => string | undefined} [judge]  Instead of `args`: what is wrong, if anything.
 */

/** @param {string} root @returns {Step[]} In the order in which they run: what fails fast comes first. */
export const checkSteps = (root) => [
  { name: 'lock', shows: 'the lock file is complete and names no download address', judge: () => lockProblem(root) },
  { name: 'build', shows: 'the sources compile', args: ['scripts/run.mjs', '--build-only'], timeoutMs: 5 * MINUTE_MS },
  {
    name: 'types',
    shows: 'specs have no type error either',
    args: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noEmit', '--tsBuildInfoFile', 'dist/.types.tsbuildinfo'],
    timeoutMs: 5 * MINUTE_MS,
  },
  { name: 'lint', shows: 'imports, bans and sizes are as agreed', args: ['node_modules/eslint/bin/eslint.js', '--max-warnings=0', '.'], timeoutMs: 5 * MINUTE_MS },
  {
    name: 'specs',
    shows: 'every spec passes, on real stores where it needs them',
    args: ['node_modules/vitest/vitest.mjs', 'run', '--reporter=default'],
    timeoutMs: 20 * MINUTE_MS,
    figure: /Tests {2}.*/g,
  },
  { name: 'mutants', shows: 'each guard that is taken out is missed by its test', args: ['scripts/run.mjs', 'test/mutants/main'], timeoutMs: 15 * MINUTE_MS, figure: /MUTANTS=.*/g },
  ...(existsSync(path.join(root, 'test/acceptance/main.ts'))
    ? [{ name: 'acceptance', shows: 'the defining stories hold against a whole stack', args: ['scripts/run.mjs', 'test/acceptance/main'], timeoutMs: 10 * MINUTE_MS, figure: /DEEP_RESEARCH_INTEGRATION=.*/g }]
    : []),
  {
    name: 'storm',
    shows: 'a stack whose processes are killed loses, doubles and repeats nothing',
    args: ['scripts/run.mjs', 'test/storm/main', '--runs', '40', '--kills', '40', '--seed', '1'],
    timeoutMs: 10 * MINUTE_MS,
    figure: /storm passed.*/g,
  },
  {
    name: 'budget',
    shows: '64 clients that die at random overdraw nothing, lock nothing away and meet the bill',
    args: ['scripts/run.mjs', 'bench/main', 'budget', '--operations', '20000'],
    timeoutMs: 5 * MINUTE_MS,
    figure: /overshoot .* bill \d+/g,
  },
];

/**
 * Addresses would tie every installation to the registry of whoever wrote the lock; and a registry without the packages of other
 * platforms makes `npm install` leave them out, whereupon `npm ci` refuses everywhere.
 */
function lockProblem(root) {
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  const entries = Object.entries(packages);
  const [addressed] = entries.find(([, entry]) => /^https?:/.test(entry.resolved ?? '')) ?? [];
  if (addressed) return `package-lock.json names a download address for ${addressed}: write it again with "npm install --omit-lockfile-registry-resolved".`;
  const locked = new Set(entries.map(([place]) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)));
  const missing = entries.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {})).filter((name) => !locked.has(name));
  return missing.length > 0 ? `package-lock.json lacks ${missing.join(', ')}: "npm ci" would refuse. Restore their entries (version, os, cpu, optional).` : refusedProblem(entries);
}

/** npm on Node 20 skips, without a word, an optional package that asks for a later Node, also one that only ever runs on the pinned Node. */
function refusedProblem(entries) {
  const refused = entries.filter(([, { optional, engines }]) => optional && /^>= ?(2[1-9]|[3-9]\d)/.test(engines?.node ?? ''));
  return refused.length > 0 ? `package-lock.json lets npm on Node 20 skip ${refused.map(([place]) => place).join(', ')}: remove "engines" from these entries.` : undefined;
}
