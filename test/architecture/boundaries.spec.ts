import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
import { describe, expect, it } from 'vitest';

const untyped = new ESLint({ overrideConfig: [{ ...tseslint.configs.disableTypeChecked, files: ['**/*.ts'] }] });
const typed = new ESLint();

async function lint(path: string, code: string, eslint = untyped): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath: path });
  return result?.messages.map((found) => found.message) ?? [];
}

const BOUNDARY_RULE = 'quaestor/import-boundary';

/** What the boundary rule says to one line in a file that need not exist. */
async function boundaryMessages(path: string, line: string): Promise<string[]> {
  const [result] = await untyped.lintText(`${line}\n`, { filePath: path });
  return result?.messages.filter((found) => found.ruleId === BOUNDARY_RULE || found.fatal).map((found) => found.message) ?? [];
}

const imports = (specifier: string): string => `import { thing } from '${specifier}'; export const used = [thing];`;
const importsType = (specifier: string): string => `import type { Thing } from '${specifier}'; export type Used = Thing;`;

const ADAPTERS = ['agent', 'models', 'web', 'tools', 'database', 'queue', 'client'];
const siblings = ADAPTERS.flatMap((from) => ADAPTERS.filter((to) => to !== from).map((to) => [from, to] as const));

describe('direction of imports', () => {
  it.each(siblings)('[layer] libs/%s does not import its sibling #%s', async (from, to) => {
    expect(await boundaryMessages(`libs/${from}/src/virtual.ts`, imports(`#${to}`))).toEqual([
      `libs/${from} must not import #${to}: siblings meet through a port in libs/domain/src/ports, filled in by libs/runtime or an app.`,
    ]);
  });

  it.each([
    ['libs/contracts/src/virtual.ts', '#domain', /contracts stand below everything/],
    ['libs/contracts/src/virtual.ts', '#platform', /contracts stand below everything/],
    ['libs/domain/src/virtual.ts', '#database', /declare a port/],
    ['libs/domain/src/virtual.ts', '#platform', /declare a port/],
    ['libs/agent/src/virtual.ts', '#runtime', /siblings meet through a port/],
    ['libs/models/src/virtual.ts', '#platform', /siblings meet through a port/],
    ['libs/platform/src/virtual.ts', '#domain', /take what you need as an argument/],
    ['libs/platform/src/virtual.ts', '#database', /take what you need as an argument/],
    ['libs/runtime/src/virtual.ts', '#testing', /production libraries only/],
    ['apps/gateway/src/virtual.ts', '#testing', /only specs, test\/ and bench\/ import #testing/],
    ['libs/web/src/virtual.ts', '#testing', /siblings meet through a port/],
    ['libs/tools/src/virtual.ts', '#planted', /no step at which a fault is planted/],
    ['libs/domain/src/virtual.ts', '#planted', /no step at which a fault is planted/],
    ['libs/web/src/virtual.ts', '#web', /this library itself/],
  ])('%s does not import %s', async (path, specifier, message) => {
    expect(await boundaryMessages(path, imports(specifier))).toEqual([expect.stringMatching(message)]);
  });

  it.each([
    ['libs/domain/src/virtual.ts', '#contracts'],
    ['libs/tools/src/virtual.ts', '#domain'],
    ['libs/platform/src/virtual.ts', '#contracts'],
    ['libs/runtime/src/virtual.ts', '#agent'],
    ['libs/agent/src/virtual.ts', '#planted'],
    ['libs/database/src/virtual.ts', '#planted'],
    ['apps/gateway/src/virtual.ts', '#planted'],
    ['libs/web/src/virtual.spec.ts', '#testing'],
    ['apps/gateway/src/spec-support/virtual.ts', '#testing'],
    ['apps/worker/src/virtual.ts', '#runtime'],
    ['libs/testing/src/virtual.ts', '#database'],
    ['bench/virtual.ts', '#testing'],
    ['test/virtual.ts', '#client'],
  ])('%s may import %s', async (path, specifier) => {
    expect(await boundaryMessages(path, imports(specifier))).toEqual([]);
  });
});

describe('one door for each library', () => {
  it.each([
    ['apps/worker/src/virtual.ts', '#database/src/sql', /a library has one door, #database/],
    ['libs/web/src/virtual.ts', '../../domain/src/text/words.ts', /import what its index\.ts exports, as #domain/],
    ['apps/worker/src/virtual.ts', '../../gateway/src/gateway.ts', /reaches from apps\/worker into apps\/gateway/],
    ['libs/agent/src/virtual.ts', '../../../apps/worker/src/main.ts', /reaches from libs\/agent into apps\/worker/],
    ['bench/rig/virtual.ts', '../../apps/cli/src/stack/keys.ts', /reaches into an app: import an index\.ts/],
    ['libs/models/src/virtual.ts', './testing/ask.ts', /is test support/],
    ['apps/cli/src/virtual.ts', './virtual.spec.ts', /is test support/],
  ])('%s does not reach for %s', async (path, specifier, message) => {
    expect(await boundaryMessages(path, imports(specifier))).toEqual([expect.stringMatching(message)]);
  });

  it.each([
    ['static', `import '#database';`],
    ['type', importsType('#database')],
    ['dynamic', `export const used = import('#database');`],
    ['re-export', `export { thing } from '#database';`],
    ['re-export of all', `export * from '#database';`],
    ['in a type', `export type Used = import('#database').Journal;`],
  ])('sees an import that is %s', async (_kind, line) => {
    expect(await boundaryMessages('libs/agent/src/virtual.ts', line)).toEqual([expect.stringMatching(/^libs\/agent must not import #database/)]);
  });
});

describe('packages with one home', () => {
  const forbidden: [path: string, specifier: string, message: RegExp][] = [
    ['libs/contracts/src/virtual.ts', 'stemmer', /imports zod only/],
    ['libs/contracts/src/virtual.ts', 'node:crypto', /runs without Node/],
    ['libs/domain/src/virtual.ts', 'node:crypto', /runs without Node/],
    ['libs/domain/src/virtual.ts', 'undici', /imports zod and stemmer only/],
    ['libs/client/src/virtual.ts', 'node:stream', /runs without Node/],
    ['libs/queue/src/virtual.ts', 'typeorm', /use a repository of #database/],
    ['libs/runtime/src/virtual.ts', 'typeorm', /except its types/],
    ['apps/worker/src/virtual.ts', 'mysql2/promise', /use a repository of #database/],
    ['apps/worker/src/virtual.ts', 'bullmq', /of #queue/],
    ['apps/gateway/src/virtual.ts', 'ioredis', /except its types/],
    ['libs/web/src/virtual.ts', 'ioredis', /of #queue/],
    ['apps/worker/src/virtual.ts', '@bull-board/api', /belongs to apps\/gateway/],
    ['libs/runtime/src/virtual.ts', 'fastify', /belong to apps\/gateway/],
    ['apps/worker/src/virtual.ts', 'pino', /of #platform/],
    ['apps/gateway/src/virtual.ts', 'commander', /belong to apps\/cli/],
    ['libs/web/src/virtual.ts', 'vitest', /test code belongs in/],
    ...['contracts', 'domain'].map((library) => [`libs/${library}/src/virtual.ts`, '@nestjs/common', / only: /] as [string, string, RegExp]),
    ...ADAPTERS.filter((library) => library !== 'queue').map((library) => [`libs/${library}/src/virtual.ts`, '@nestjs/common', /plain function or class/] as [string, string, RegExp]),
  ];

  it.each(forbidden)('%s does not import %s', async (path, specifier, message) => {
    expect(await boundaryMessages(path, imports(specifier))).toEqual([expect.stringMatching(message)]);
  });

  it('lets libs/runtime and the gateway name types of the stores', async () => {
    expect(await boundaryMessages('libs/runtime/src/virtual.ts', importsType('typeorm'))).toEqual([]);
    expect(await boundaryMessages('apps/gateway/src/virtual.ts', importsType('ioredis'))).toEqual([]);
  });

  it('lets specs use Node and the test tools everywhere', async () => {
    for (const specifier of ['node:http', 'vitest', 'fast-check']) expect(await boundaryMessages('libs/domain/src/virtual.spec.ts', imports(specifier))).toEqual([]);
  });
});

describe('banned lines', () => {
  const path = 'libs/web/src/virtual.ts';

  it.each([
    ['any', 'export const used = (value: any): unknown => value;', /Unexpected any/],
    ['enum', 'export enum Colour { Red }', /as const/],
    ['an empty catch', 'export const used = (): void => { try { used(); } catch {} };', /Empty block/],
    ['console', `console.log('x');`, /Unexpected console/],
    ['process.env', `export const used = process.env['HOME'];`, /use loadConfig of #platform/],
    ['process.env by destructuring', 'const { env } = process; export const used = env;', /use loadConfig of #platform/],
    ['a default export', 'export default 1;', /export by name/],
    ['waitUntilFinished', 'export const used = (job: { waitUntilFinished(): void }): void => job.waitUntilFinished();', /use the completions of #queue/],
    ['a disabled rule', `/* eslint-disable no-console */ console.log('x');`, /Unexpected console/],
    ['a file of 301 lines', 'export {};\n'.repeat(301), /too many lines/],
    ['a function of 71 lines', `export function used(): void {\n${'  used();\n'.repeat(70)}}\n`, /too many lines/],
  ])('refuses %s', async (_name, code, message) => {
    expect(await lint(path, code)).toContainEqual(expect.stringMatching(message));
  });

  it.each([
    ['an empty catch with its reason', path, 'export const used = (): void => { try { used(); } catch { /* gone already */ } };'],
    ['process.env in platform', 'libs/platform/src/virtual.ts', `export const used = process.env['HOME'];`],
    ['a long migration', 'libs/database/src/migrations/virtual.ts', 'export {};\n'.repeat(301)],
    ['a long spec', 'libs/web/src/virtual.spec.ts', 'export {};\n'.repeat(301)],
  ])('accepts %s', async (_name, file, code) => {
    expect(await lint(file, code)).toEqual([]);
  });

  it('refuses a promise that nobody waits for', async () => {
    const existing = 'libs/contracts/src/ids.ts';
    expect(await lint(existing, 'export const used = (): void => { Promise.resolve(); };\n', typed)).toContainEqual(expect.stringMatching(/Promises must be awaited/));
    // types of the whole program are read for it
  }, 120_000);
});
