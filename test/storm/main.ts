import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CRASH_POINTS, type CrashPoint } from '#testing';
import type { StoreTarget } from './store-faults.ts';
import { Stores } from './stores.ts';
import { keepReceipts, storm, type StormOptions } from './storm.ts';
import { compareThroughput } from './throughput.ts';
import { judge } from './verdict.ts';

const HELP = `Kills the services of a whole stack while it works, and holds what is left against what was promised.

usage: npm run storm -- [--runs N] [--kills M] [--seed S] [--with redis,db] [--points K07,K11] [--json] [--keep|--discard]
       npm run storm -- --throughput [--seconds N] [--seed S] [--json]

  --runs N         questions to put; default 100
  --kills M        processes to kill with SIGKILL; default 200
  --seed S         of everything that is drawn by lot; default 1
  --with LIST      redis: killed or emptied every 15 s; db: killed every 5 to 10 s
  --points LIST    named points at which processes die by themselves; default all
  --throughput     compare the runs ended per second, calm and with one kill every 5 s, each for --seconds (default 60)
  --json           one JSON object as the last line
  --keep           keep logs, receipts and rows of a good storm too; those of a bad one are kept anyway
  --discard        keep nothing, not even of a bad storm
  --help           this text

Exit code 0 when every figure that must be 0 is; else 1.
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '100' },
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      with: { type: 'string', default: '' },
      points: { type: 'string', default: '' },
      throughput: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '60' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      discard: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(HELP);
  const [runs, kills, seed, seconds] = [values.runs, values.kills, values.seed, values.seconds].map(Number) as [number, number, number, number];
  if (![runs, kills, seed, seconds].every((value) => Number.isSafeInteger(value) && value >= 1)) return refuse('--runs, --kills, --seed and --seconds must be whole numbers from 1.');
  if (values.throughput) return compare(seed, seconds, values.json);
  const targets = listOf(values.with);
  const points = listOf(values.points);
  const wrong = targets.find((target) => target !== 'redis' && target !== 'db') ?? points.find((point) => !(point in CRASH_POINTS));
  if (wrong !== undefined) return refuse(`"${wrong}" is unknown: --with takes redis and db, --points takes ${Object.keys(CRASH_POINTS).join(', ')}.`);
  if (targets.length > 0 && !Stores.arePrivate) return refuse('--with kills private stores only: unset REDIS_URL and DATABASE_URL.');
  return play({ runs, kills, seed, with: targets as StoreTarget[], points: points.length === 0 ? null : (points as CrashPoint[]), log }, values.json, values.discard ? 'nothing' : values.keep ? 'everything' : 'failures');
}

async function compare(seed: number, seconds: number, isJson: boolean): Promise<number> {
  const figures = await compareThroughput({ seed, seconds, log });
  say(`throughput under kills: ${Math.round((figures['throughput_share'] ?? 0) * 100)} % of calm, recovery p50 ${figures['recovery_p50_ms']} ms, max ${figures['recovery_max_ms']} ms\n`);
  if (isJson) say(`${JSON.stringify(figures)}\n`);
  return 0;
}

async function play(options: StormOptions, isJson: boolean, keep: 'nothing' | 'failures' | 'everything'): Promise<number> {
  const result = await storm(options);
  const { directory } = result.world;
  try {
    const { report, problems } = await judge(options, result);
    const receipts = keepReceipts(result);
    const isGood = problems.length === 0;
    for (const problem of problems) log(problem);
    if (!isGood) log(`evidence: ${directory} (receipts: ${receipts}); rows: ${result.world.stores.databaseUrl.replace(/:[^:@/]*@/, ':...@')}`);
    say(`storm ${isGood ? 'passed' : 'FAILED'}: seed ${options.seed}, ${options.runs} runs, ${report['kills'] as number} kills, recovery p50 ${report['recovery_p50_ms'] as number} ms, max ${report['recovery_max_ms'] as number} ms, ${report['seconds'] as number} s\n`);
    if (isJson) say(`${JSON.stringify(report)}\n`);
    const isKept = keep === 'everything' || (keep === 'failures' && !isGood);
    await result.world.stop(isKept);
    if (!isKept) rmSync(directory, { recursive: true, force: true });
    return isGood ? 0 : 1;
  } catch (error) {
    await result.world.stop(true);
    throw error;
  }
}

const listOf = (text: string): string[] => text.split(',').map((item) => item.trim()).filter(Boolean);

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function say(text: string): number {
  process.stdout.write(text);
  return 0;
}

function refuse(message: string): number {
  log(message);
  return 2;
}

// services and stores end with this process, or are used again by the next storm
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

try {
  process.exitCode = await main();
} catch (error) {
  log(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
