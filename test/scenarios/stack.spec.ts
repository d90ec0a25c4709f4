import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isTerminal, type EventEnvelope, type RunId, type RunView } from '#contracts';
import { createClient, type Client } from '#client';
import { openDataSource, runOracles, Sql, type Row } from '#database';
import { connectRedis } from '#queue';
import { createTestDatabase, SCRIPTS, startModelServer, testServicesDirectory, waitUntil, type ModelServer, type RunRecord, type TestDatabase } from '#testing';
import { startStack, type ServiceName, type Stack } from '../../apps/cli/src/stack/index.ts';

/** Of the databases of one Redis this is ours alone, so that it can be emptied beside other specs. */
const REDIS_DATABASE = 9;
const RUN_TIMEOUT_MS = 40_000;

const directory = `${testServicesDirectory()}/scenarios-${process.pid}`;
let database: TestDatabase;
let redisUrl: string;
let model: ModelServer;
let stack: Stack;
let client: Client;
let sql: Sql;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  cleanups.push(() => database.drop());
  redisUrl = `${database.redisUrl.replace(/\/\d*$/, '')}/${REDIS_DATABASE}`;
  model = await startModelServer({ scripts: SCRIPTS, defaultScript: SCRIPTS.find(({ name }) => name === 'happy')! });
  cleanups.push(() => model.close());
  const env = {
    MODEL_BASE_URL: `${model.url}/v1`, MODEL_API_KEY: 'scripted', MODEL_NAME: 'scripted', SEARCH_PROVIDER: 'searxng', SEARXNG_URL: model.url,
    WEB_ALLOW_PRIVATE_HOSTS: new URL(model.url).host, RESEND_AFTER_MS: '2000',
    // fewer than a run may have workers, so that some jobs wait in Redis
    CONCURRENCY: '3',
  };
  stack = await startStack({ directory, databaseUrl: database.url, redisUrl, env });
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }), () => stack.stop());
  client = createClient({ baseUrl: stack.url, apiKey: stack.apiKey });
  const dataSource = await openDataSource({ url: database.url, connectionLimit: 2 });
  sql = new Sql(dataSource);
  cleanups.push(() => dataSource.destroy());
}, 90_000);
afterEach(async () => {
  const reports = await runOracles(database.url);
  expect(reports.filter(({ violations }) => violations > 0)).toEqual([]);
  expect(model.records.list().map(({ firstProblem }) => firstProblem).filter((problem) => problem !== null)).toEqual([]);
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 60_000);

interface Played {
  id: RunId;
  /** Every event, once the run has ended. */
  events: Promise<EventEnvelope[]>;
  seen(): RunRecord | undefined;
}

async function ask(script: string, token: string): Promise<Played> {
  const { id } = await client.createRun({ question: `Scenario ${token}: what is known? ${script} run.${token}`, budget_credits: 10_000 });
  return { id, events: collect(id), seen: () => model.records.list().find((record) => record.id === token) };
}

async function collect(id: RunId): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  for await (const event of client.events(id, { signal: AbortSignal.timeout(RUN_TIMEOUT_MS) })) events.push(event);
  return events;
}

const requests = (played: Played, role: 'supervisor' | 'worker'): number => played.seen()?.roles[role]?.requests ?? 0;
const until = (what: string, condition: () => boolean | Promise<boolean>) => waitUntil(condition, { what, timeoutMs: RUN_TIMEOUT_MS, intervalMs: 10 });
const attemptsOf = (id: RunId): Promise<Row[]> => sql.rows('SELECT run_id, turn, kind, outcome FROM attempts WHERE root_run_id = ?', [id]);

async function kill(service: ServiceName): Promise<number> {
  const [pid] = stack.pids()[service];
  process.kill(pid!, 'SIGKILL');
  await until(`a new ${service}`, () => stack.pids()[service].some((living) => living !== pid));
  return pid!;
}

async function expectAnswered(played: Played): Promise<RunView> {
  const events = await played.events;
  const durable = events.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
  expect(durable.every((seq, index) => index === 0 || seq > durable[index - 1]!)).toBe(true);
  const states = events.filter((event) => event.type === 'run_status');
  expect(states.filter(({ status }) => isTerminal(status))).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: 'run_status', status: 'completed', stop_reason: 'answered' });
  const run = await client.getRun(played.id);
  expect(run).toMatchObject({ status: 'completed', stop_reason: 'answered', report: expect.stringContaining('## Sources') as string });
  return run;
}

/** What the model was asked and what the rows say: each settled call was asked for once, and what was asked more often was lost on the way. */
async function expectNothingRepeated(played: Played, settledCalls: number): Promise<{ lost: number }> {
  const attempts = await attemptsOf(played.id);
  const messages = attempts.filter(({ kind }) => kind === 'message');
  const lost = attempts.filter(({ outcome }) => outcome === 'lost').length;
  expect(messages).toHaveLength(settledCalls);
  expect(new Set(messages.map((row) => `${row['run_id']} ${row['turn']}`)).size).toBe(settledCalls);
  const asked = played.seen()!.modelRequests;
  expect(asked).toBeGreaterThanOrEqual(settledCalls);
  expect(asked - settledCalls).toBeLessThanOrEqual(attempts.length - messages.length);
  return { lost };
}

/** Model calls of `bench(nN,kK)`: plan, delegate, look, report; per worker one for each call and one to end. */
const benchCalls = (workers: number, callsPerWorker: number): number => 4 + workers * (callsPerWorker + 1);

describe('a whole stack', () => {
  it('[Q-07] [Q-19] answers a question through the API, with events in order and one end', async () => {
    const played = await ask('happy()', 'good');
    const run = await expectAnswered(played);
    expect(run.usage).toMatchObject({ workers: 2 });
    expect((await client.sources(played.id)).data).toHaveLength(2);
    expect((await client.scratchpad(played.id)).entries).toHaveLength(2);
    expect(played.seen()!.modelRequests).toBe((await attemptsOf(played.id)).length);
    const replayed = await collect(played.id);
    expect(replayed.filter(({ seq }) => seq !== undefined)).toEqual((await played.events).filter(({ seq }) => seq !== undefined));
  });

  it('[Q-04] [Q-33] completes although its worker and then its supervisor are killed in mid-call, and repeats nothing that was settled', async () => {
    const played = await ask('bench(n2,k4,t30,m60,e20,d12)', 'killed');
    await until('the second turn of both workers', () => requests(played, 'worker') >= 4);
    await kill('worker');
    await until('the report to begin', () => requests(played, 'supervisor') >= 4);
    await kill('supervisor');
    await expectAnswered(played);
    const { lost } = await expectNothingRepeated(played, benchCalls(2, 4));
    expect(lost).toBeGreaterThan(0);
  });

  it('[Q-14] completes although Redis loses everything in the middle', async () => {
    const played = await ask('bench(n6,k3,t20,m40,e20,d8)', 'emptied');
    const redis = connectRedis(redisUrl, 'producer', () => undefined);
    await until('the workers', () => requests(played, 'worker') >= 3);
    expect(await redis.dbsize()).toBeGreaterThan(0);
    await redis.flushdb();
    redis.disconnect();
    await expectAnswered(played);
    await expectNothingRepeated(played, benchCalls(6, 3));
  });

  it('[Q-18] a cancel through the API ends the whole tree within 2 s, with nothing begun after it', async () => {
    const played = await ask('bench(n3,k4,t80,m60,e20,d12)', 'cancelled');
    // each call streams for 1.8 s, so that a cancel that takes a heartbeat still meets all three
    await until('three workers in mid-call', () => requests(played, 'worker') >= 3);
    const startedMs = performance.now();
    await client.cancelRun(played.id);
    await until('the end of the tree', async () => (await sql.rows('SELECT 1 FROM runs WHERE root_run_id = ? AND ended_at IS NULL', [played.id])).length === 0);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    const asked = played.seen()!.modelRequests;
    expect((await played.events).at(-1)).toMatchObject({ type: 'run_status', status: 'cancelled', stop_reason: 'cancelled' });
    await until('the streams to close', () => played.seen()!.aborted >= 3);
    expect(played.seen()!.modelRequests).toBe(asked);
    expect(await sql.rows(`SELECT DISTINCT status FROM runs WHERE root_run_id = ?`, [played.id])).toEqual([{ status: 'cancelled' }]);
  });
});
