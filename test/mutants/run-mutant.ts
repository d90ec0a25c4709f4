import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { environment } from '#platform';
import type { Mutant } from './mutant.ts';

const ROOT = process.cwd();
const VITEST = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
const TIMEOUT_MS = 180_000;
/** A guard whose absence shows as a wait without end is caught after this time. */
const TEST_TIMEOUT_MS = 15_000;

/** `caught`: the owning test failed. `survived`: it passed without the guard. `broken`: nothing was shown, because no test ran to its end. */
export interface Verdict {
  mutant: Mutant;
  outcome: 'caught' | 'survived' | 'broken';
  /** The first failure, or what went wrong. */
  evidence: string;
  durationMs: number;
}

interface Report {
  testResults: { message: string; assertionResults: { status: string; fullName: string; failureMessages: string[] }[] }[];
}

/** Runs the owner of one mutant in a test process of its own. The sources on disk stay as they are. */
export async function runMutant(mutant: Mutant): Promise<Verdict> {
  const startedAtMs = Date.now();
  const folder = await mkdtemp(path.join(tmpdir(), 'quaestor-mutant-'));
  try {
    const output = await runOwner(mutant, path.join(folder, 'report.json'));
    const report = await readReport(path.join(folder, 'report.json'));
    return { mutant, durationMs: Date.now() - startedAtMs, ...(report ? judge(report) : { outcome: 'broken', evidence: lastLine(output) }) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runOwner({ name, owner }: Mutant, reportFile: string): Promise<string> {
  const title = owner.title === '' ? [] : ['-t', escapeRegExp(owner.title)];
  const args = [VITEST, 'run', owner.spec, ...title, '--reporter=json', `--outputFile=${reportFile}`, '--no-color', '--bail=1', `--testTimeout=${TEST_TIMEOUT_MS}`];
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...environment(), MUTANT: name }, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  await once(child, 'close');
  return output;
}

function judge(report: Report): Pick<Verdict, 'outcome' | 'evidence'> {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.find(({ status }) => status === 'failed');
  if (failed) return { outcome: 'caught', evidence: `${failed.fullName}: ${firstLine(failed.failureMessages[0] ?? '')}` };
  if (tests.some(({ status }) => status === 'passed')) return { outcome: 'survived', evidence: 'The owning test passes without the guard.' };
  return { outcome: 'broken', evidence: firstLine(report.testResults[0]?.message ?? '') || 'No test has this title.' };
}

async function readReport(file: string): Promise<Report | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Report;
  } catch {
    return null;
  }
}

const firstLine = (text: string): string => text.split('\n')[0]?.slice(0, 160) ?? '';
const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
