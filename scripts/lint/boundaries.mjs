/**
 * Who may import whom, as data. `import-boundary.mjs` turns it into a lint rule, `test/architecture/boundaries.spec.ts` proves each line.
 *
 *     contracts <- domain <- { agent, models, web, tools, database, queue, client } <- runtime <- apps
 *     contracts <- platform <- runtime, apps
 */
const ADAPTERS = ['agent', 'models', 'web', 'tools', 'database', 'queue', 'client'];
const PRODUCTION = ['contracts', 'domain', ...ADAPTERS, 'platform', 'runtime'];
const SIBLING_DOOR = 'siblings meet through a port in libs/domain/src/ports, filled in by libs/runtime or an app';

/** What each library may import, and what to do instead of reaching further. */
const LIBRARIES = {
  contracts: { allowed: [], door: 'contracts stand below everything: move the type down, or the code up' },
  domain: { allowed: ['contracts'], door: 'declare a port in libs/domain/src/ports and let an adapter library implement it' },
  platform: { allowed: ['contracts'], door: 'platform is process glue: take what you need as an argument from libs/runtime or an app' },
  runtime: { allowed: PRODUCTION, door: 'runtime wires production libraries only' },
  testing: { allowed: [...PRODUCTION, 'testing'], door: 'name a library of libs/' },
  ...Object.fromEntries(ADAPTERS.map((name) => [name, { allowed: ['contracts', 'domain'], door: SIBLING_DOOR }])),
};

const APP = { allowed: PRODUCTION, door: 'apps compose production libraries; only specs, test/ and bench/ import #testing' };
const HARNESS = { allowed: [...PRODUCTION, 'testing'], door: 'name a library of libs/' };

/** Planted bugs and crash points are looked up where they bite; what stands before the engine's own steps has none. */
const WITHOUT_PLANTED = ['contracts', 'domain', 'client', 'tools', 'platform'];

/** Packages with one home. `typeOnly` zones may name their types. A zone is `libs/x`, `apps/x`, `test` or `bench`; `apps` means all of them. */
const PACKAGES = [
  { match: /^typeorm$/, home: ['libs/database'], typeOnly: ['libs/runtime'], door: 'use a repository of #database' },
  { match: /^mysql2(\/|$)/, home: ['libs/database', 'libs/platform', 'libs/testing', 'test', 'bench'], door: 'use a repository of #database' },
  { match: /^bullmq$/, home: ['libs/queue'], door: 'use the job sender, processor or completions of #queue' },
  { match: /^@bull-board\//, home: ['libs/queue', 'apps/gateway'], door: 'the queue page belongs to apps/gateway' },
  { match: /^ioredis$/, home: ['libs/queue'], typeOnly: ['libs/runtime', 'apps/gateway'], door: 'use connectRedis or the notifier of #queue' },
  { match: /^@nestjs\//, home: ['libs/platform', 'libs/queue', 'libs/runtime', 'libs/testing', 'apps'], door: 'write a plain function or class and wrap it in libs/runtime or an app' },
  { match: /^(fastify|@fastify\/.*)$/, home: ['apps/gateway'], door: 'HTTP routes belong to apps/gateway' },
  { match: /^(pino|prom-client)$/, home: ['libs/platform'], door: 'use the logger and metrics of #platform' },
  { match: /^(commander|picocolors)$/, home: ['apps/cli'], door: 'command lines and colours belong to apps/cli' },
  { match: /^(vitest|fast-check)$/, home: ['test', 'libs/testing'], door: 'test code belongs in a *.spec.ts, or in a spec-support/ or testing/ folder' },
];

/** Libraries that may use these packages and no others; null leaves the choice to `PACKAGES`. */
const OWN_PACKAGES = { contracts: ['zod'], domain: ['zod', 'stemmer'] };

/** Libraries that also run outside Node: contracts and client in a browser, domain anywhere. */
const WITHOUT_NODE = ['contracts', 'domain', 'client'];

/** @typedef {{ path: string, specifier: string, isTypeOnly: boolean }} Import  `path` is relative to the repository, with slashes. */

/**
 * Why this import is not allowed, as one sentence that names the right door; undefined when it is.
 * @param {Import} request
 */
export function findViolation({ path, specifier, isTypeOnly }) {
  const zone = zoneOf(path);
  if (!zone) return undefined;
  const from = { path, zone, library: zone.startsWith('libs/') ? zone.slice('libs/'.length) : undefined, isTest: isTestCode(path) };
  if (specifier.startsWith('.')) return relativeViolation(from, specifier);
  if (specifier.startsWith('#')) return aliasViolation(from, specifier);
  if (specifier.startsWith('node:')) return nodeViolation(from, specifier);
  return packageViolation(from, specifier, isTypeOnly);
}

/** Specs and what only they use. */
export const isTestCode = (path) => /\.spec\.ts$|\/(spec-support|testing)\//.test(path.replace(/^libs\/testing\//, 'libs/'));

function zoneOf(path) {
  const [top, name] = path.split('/');
  if (top === 'libs' || top === 'apps') return `${top}/${name}`;
  return top === 'test' || top === 'bench' ? top : undefined;
}

function relativeViolation({ path, zone, isTest }, specifier) {
  const target = new URL(specifier, `file:///${path}`).pathname.slice(1);
  const targetZone = zoneOf(target);
  if (!isTest && zone !== 'libs/testing' && isTestCode(target)) return `"${specifier}" is test support: only specs import it.`;
  if (targetZone === zone || !targetZone) return undefined;
  if (targetZone.startsWith('libs/')) return `"${specifier}" reaches into another library: import what its index.ts exports, as #${targetZone.slice(5)}.`;
  if (['test', 'bench'].includes(zone)) {
    return target.endsWith('/index.ts') ? undefined : `"${specifier}" reaches into an app: import an index.ts of it.`;
  }
  return `"${specifier}" reaches from ${zone} into ${targetZone}: move what both need to a library.`;
}

function aliasViolation({ zone, library, isTest }, specifier) {
  const name = specifier.slice(1);
  if (name.includes('/')) return `"${specifier}" is a deep import: a library has one door, #${name.split('/')[0]}.`;
  if (name === 'planted') return WITHOUT_PLANTED.includes(library) ? `#planted is not for ${zone}: its code has no step at which a fault is planted.` : undefined;
  if (name === library) return `#${name} is this library itself: import the file by its relative path.`;
  if (name === 'testing' && isTest) return undefined;
  const { allowed, door } = library ? (LIBRARIES[library] ?? APP) : zone.startsWith('apps/') ? APP : HARNESS;
  return allowed.includes(name) ? undefined : `${zone} must not import #${name}: ${door}.`;
}

function nodeViolation({ zone, library, isTest }, specifier) {
  if (isTest || !WITHOUT_NODE.includes(library)) return undefined;
  return `${zone} must not import ${specifier}: it also runs without Node; take the effect as an argument or a port.`;
}

function packageViolation({ zone, library, isTest }, specifier, isTypeOnly) {
  const rule = PACKAGES.find(({ match }) => match.test(specifier));
  const isTestTool = isTest && rule?.home.includes('libs/testing');
  const own = OWN_PACKAGES[library];
  if (own && !isTestTool && !own.includes(specifier)) return `${zone} imports ${own.join(' and ')} only: ${LIBRARIES[library].door}.`;
  if (!rule || isTestTool) return undefined;
  const isIn = (zones) => zones?.some((home) => zone === home || zone.startsWith(`${home}/`));
  if (isIn(rule.home) || ((isTypeOnly || isTest) && isIn(rule.typeOnly)) || (isTypeOnly && isTest)) return undefined;
  return `${zone} must not import ${specifier}${isIn(rule.typeOnly) ? ' (except its types)' : ''}: ${rule.door}.`;
}
