import { parseArgs } from 'node:util';
import type { Mutant } from './mutant.ts';
import { MUTANTS } from './mutants/index.ts';
import { runMutant, type Verdict } from './run-mutant.ts';

const USAGE = `Takes out one guard of the engine at a time and asks the test that owns it: it has to fail.

usage: npm run mutants -- [NAME ...] [--list] [--json] [--help]

  NAME     run these only; default all
  --list   name every mutant with its promise and its test, and run none
  --json   print one JSON object as the last line

exit code: 0 every mutant was caught; 1 one survived or broke; 2 wrong usage`;

const EXIT_SURVIVED = 1;
const EXIT_USAGE = 2;
const AT_ONCE = 2;
const NAME_WIDTH = 36;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { list: { type: 'boolean', default: false }, json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
  });
  if (values.help) return say(USAGE, 0);
  const strange = positionals.filter((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (strange.length > 0) return say(`There is no mutant ${strange.join(', ')}: "npm run mutants -- --list" names them.`, EXIT_USAGE);
  const chosen = positionals.length === 0 ? MUTANTS : MUTANTS.filter(({ name }) => positionals.includes(name));
  if (values.list) return say(chosen.map(({ name, promise, owner }) => `${promise}  ${name.padEnd(NAME_WIDTH)} ${owner.spec}`).join('\n'), 0);
  const verdicts = await runAll(chosen);
  const caught = verdicts.filter(({ outcome }) => outcome === 'caught').length;
  say(`MUTANTS=${caught}/${verdicts.length}`);
  if (values.json) say(JSON.stringify({ mutants: verdicts.length, caught, survived: named(verdicts, 'survived'), broken: named(verdicts, 'broken') }));
  return caught === verdicts.length ? 0 : EXIT_SURVIVED;
}

function say(text: string, code = 0): number {
  process.stdout.write(`${text}\n`);
  return code;
}

async function runAll(mutants: readonly Mutant[]): Promise<Verdict[]> {
  const left = [...mutants];
  const verdicts: Verdict[] = [];
  const work = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const verdict = await runMutant(mutant);
      verdicts.push(verdict);
      say(`${verdict.outcome.padEnd(8)} ${mutant.promise}  ${mutant.name.padEnd(NAME_WIDTH)} ${(verdict.durationMs / 1000).toFixed(1)} s  ${verdict.evidence}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return verdicts;
}

const named = (verdicts: Verdict[], outcome: Verdict['outcome']): string[] => verdicts.filter((verdict) => verdict.outcome === outcome).map(({ mutant }) => mutant.name);

try {
  process.exitCode = await main();
} catch (error) {
  // parseArgs names the option it does not know
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}
