import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { QuaestorError, type EventEnvelope } from '#contracts';
import { createClient } from '#client';
import { environment } from '#platform';
import { createTestDatabase, leaveTestServices, spawnModelServer, testServicesDirectory, type SpawnedModelServer } from '#testing';
import { startStack } from '../../apps/cli/src/stack/index.ts';
import { readRows, type Evidence } from './evidence.ts';
import { judge } from './report.ts';
import { judgeStopReasons } from './stop-reasons.ts';

const RUN_TIMEOUT_MS = 120_000;
const randomHex = (bytes = 8): string => randomBytes(bytes).toString('hex');

interface Target {
  url: string;
  apiKey: string;
  databaseUrl: string;
  model: SpawnedModelServer;
}

/** Asks one question as a user would, reads its events to the end, and then looks at the rows behind them. */
async function play(target: Target, script: string, testId: string): Promise<Evidence> {
  const requests: string[] = [];
  const recordingFetch: typeof fetch = (input, init) => {
    requests.push(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`);
    return fetch(input, init);
  };
  const client = createClient({ baseUrl: target.url, apiKey: target.apiKey, fetch: recordingFetch });
  const accepted = await client.createRun({ question: `Acceptance ${testId}. ${script} run.${testId}`, budget_credits: 10_000 });
  const events: EventEnvelope[] = [];
  for await (const event of client.events(accepted.id, { signal: AbortSignal.timeout(RUN_TIMEOUT_MS) })) events.push(event);
  const run = await client.getRun(accepted.id);
  const seen = await target.model.run(testId);
  return { run, events, requests, protocolProblems: seen?.protocolProblems ?? 0, rows: await readRows(target.databaseUrl, accepted.id) };
}

/** A planted bug exists only in processes that resolve modules by its condition. */
function plantedEnvironment(): Record<string, string> {
  const fault = environment()['PLANTED_FAULT'];
  return fault ? { PLANTED_FAULT: fault, NODE_OPTIONS: '--conditions=planted' } : {};
}

async function main(): Promise<number> {
  const cleanups: (() => Promise<void>)[] = [];
  try {
    const database = await createTestDatabase();
    cleanups.push(() => database.drop());
    const model = await spawnModelServer();
    cleanups.push(() => model.stop());
    const env = { ...model.environment, ...plantedEnvironment() };
    const directory = `${testServicesDirectory()}/acceptance-${randomHex(4)}`;
    cleanups.push(() => rm(directory, { recursive: true, force: true }));
    const stack = await startStack({ directory, databaseUrl: database.url, redisUrl: database.redisUrl, env, workers: 2 });
    cleanups.push(() => stack.stop());
    const target = { url: stack.url, apiKey: stack.apiKey, databaseUrl: database.url, model };
    const testId = randomHex(4);
    const markers = { seed: randomHex(), marker: randomHex() };
    const partial = randomHex();
    const shared = await play(target, `seven-evidence(seed=${markers.seed},marker=${markers.marker})`, `${testId}-shared`);
    const failure = await play(target, `worker-failure(partial=${partial})`, `${testId}-failure`);
    const report = judge({ shared, markers, failure, partialText: `PARTIAL-${partial}` });
    const ends = await judgeStopReasons(createClient({ baseUrl: stack.url, apiKey: stack.apiKey }), database.url, testId);
    process.stdout.write(`${[...report.lines, `STOP_REASONS=${ends === null ? 'PASS' : `FAIL ${ends}`}`].join('\n')}\n`);
    return report.isGood && ends === null ? 0 : 1;
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
    await leaveTestServices();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof QuaestorError ? `${error.message} (${error.code})` : String(error)}\n`);
  process.exitCode = 1;
}
