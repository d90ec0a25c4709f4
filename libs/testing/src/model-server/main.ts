import { parseArgs } from 'node:util';
import { fixturePages } from './pages.ts';
import { SCRIPTS } from './scripts/index.ts';
import { STREAM_SCRIPTS } from './scripts/recorded-streams.ts';
import { startModelServer } from './server.ts';

const ALL_SCRIPTS = [...SCRIPTS, ...STREAM_SCRIPTS];

const HELP = `Scripted model server: plays a script over the wires of chat completions, Responses and Messages, with a fixture web on the same port.

usage: npm run model-server -- [--script NAME] [--port N] [--lenient] [--keep-requests]

  --script NAME  script for questions that name none; default happy
  --port N       port on 127.0.0.1; default 0 = any free port
  --lenient      accept requests that break the vendors' protocol
  --keep-requests  keep every request for GET /__requests
  --list         list the scripts
  --help         this text

A question picks a script by "name(parameters) run.ID", such as "bench(n4,k6) run.a1".
`;

async function main(): Promise<number | undefined> {
  const { values } = parseArgs({
    options: {
      script: { type: 'string', default: 'happy' },
      port: { type: 'string', default: '0' },
      lenient: { type: 'boolean', default: false },
      'keep-requests': { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return print(HELP);
  if (values.list) return print(ALL_SCRIPTS.map((script) => `${script.name.padEnd(34)}${script.description}\n`).join(''));
  const defaultScript = ALL_SCRIPTS.find((script) => script.name === values.script);
  if (defaultScript === undefined) return fail(`There is no script "${values.script}": use one of ${ALL_SCRIPTS.map((script) => script.name).join(', ')}.`);
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) return fail(`--port must be a whole number from 0 to 65535, not "${values.port}".`);
  fixturePages();
  const server = await startModelServer({ scripts: ALL_SCRIPTS, defaultScript, port, isStrict: !values.lenient, keepsRequests: values['keep-requests'] });
  print(`Model server ready at ${server.url}\n  MODEL_BASE_URL=${server.url}/v1\n  SEARXNG_URL=${server.url}\n  WEB_ALLOW_PRIVATE_HOSTS=${new URL(server.url).host}\n  script ${defaultScript.name}\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close().then(() => process.exit(0)));
  return undefined;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 2;
}

try {
  const code = await main();
  if (code !== undefined) process.exitCode = code;
} catch (error) {
  process.exitCode = fail(error instanceof Error ? error.message : String(error));
}
