import { parseArgs } from 'node:util';
import type { Bench } from './bench.ts';
import { budgetBench } from './benches/budget.ts';
import { cancelBench } from './benches/cancel.ts';
import { contextBench } from './benches/context.ts';
import { idleBench } from './benches/idle.ts';
import { installBench } from './benches/install.ts';
import { loadBench } from './benches/load.ts';
import { modelStreamsBench } from './benches/model-streams.ts';
import { recoveryBench } from './benches/recovery.ts';
import { runBench } from './benches/run.ts';
import { streamsBench } from './benches/streams.ts';

const BENCHES: readonly Bench[] = [runBench, loadBench, contextBench, idleBench, installBench, budgetBench, cancelBench, recoveryBench, modelStreamsBench, streamsBench];

const HELP = `Measures the engine on private stores with a scripted model in a process of its own.

usage: npm run bench -- NAME [--runs N] [--warm N] [--operations N] [--streams N] [--seed N]
       [--resumes N] [--clients N] [--only PART,...] [--json]

  --runs N   measured runs; each bench has its default
  --warm N   runs before measuring
  --operations N
             operations of the budget bench
  --resumes N
             cut lines of the streams bench; default 200
  --clients N
             readers at once of the streams bench; default 1000
  --only PART,...
             parts of the streams bench: compact, router, bytes, age, crowd, clients, resumes
  --streams N
             streams of the model-streams bench; default 10000
  --seed N   what the model-streams bench draws its lots from; default 1
  --json     print one JSON object as the last line
  --list     list the benches
  --help     this text
`;

const list = (): string => BENCHES.map((bench) => `${bench.name.padEnd(15)}${bench.description}\n`).join('');

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      warm: { type: 'string' },
      operations: { type: 'string' },
      resumes: { type: 'string' },
      clients: { type: 'string' },
      only: { type: 'string' },
      streams: { type: 'string' },
      seed: { type: 'string' },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(HELP + '\n' + list());
  if (values.list) return say(list());
  const bench = BENCHES.find(({ name }) => name === positionals[0]);
  if (bench === undefined || positionals.length > 1) return refuse(`Name one bench: ${BENCHES.map(({ name }) => name).join(', ')}.`);
  const counts = countsOf(values);
  if (typeof counts === 'string') return refuse(counts);
  const { resumes, ...options } = counts;
  const only = values.only?.split(',');
  const result = await bench.run({ ...bench.defaults, ...(resumes === undefined ? {} : { operations: resumes }), ...options, ...(only ? { only } : {}), log: (line) => process.stderr.write(`${line}\n`) });
  say(`${result.lines.join('\n')}\n`);
  if (values.json) say(`${JSON.stringify({ bench: bench.name, at: new Date().toISOString(), ...result.figures })}\n`);
  return 0;
}

/** Options that count something, and the least each may be. */
const LEAST = { runs: 1, warm: 0, operations: 1, resumes: 1, clients: 1, streams: 1, seed: 0 } as const;
type Counts = Partial<Record<keyof typeof LEAST, number>>;

/** The counts that were given, or what is wrong with one of them. */
function countsOf(values: Partial<Record<keyof typeof LEAST, string | undefined>>): Counts | string {
  const counts: Counts = {};
  for (const [name, least] of Object.entries(LEAST) as [keyof typeof LEAST, number][]) {
    if (values[name] === undefined) continue;
    const count = Number(values[name]);
    if (!Number.isInteger(count) || count < least) return `--${name} must be a whole number from ${least}.`;
    counts[name] = count;
  }
  return counts;
}

function say(text: string): number {
  process.stdout.write(text);
  return 0;
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n`);
  return 2;
}

// An interrupted bench leaves its stores to the next one, which uses them again; its services end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
