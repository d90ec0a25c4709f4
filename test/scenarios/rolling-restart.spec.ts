import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient, type Client } from '#client';
import type { RunId } from '#contracts';
import { openDataSource, runOracles, Sql } from '#database';
import { connectRedis } from '#queue';
import { createTestDatabase, SCRIPTS, startModelServer, testServicesDirectory, waitUntil, type ModelServer, type TestDatabase } from '#testing';
import { startStack, type ServiceName, type Stack } from '../../apps/cli/src/stack/index.ts';

/** Of the databases of one Redis this is ours alone. */
const REDIS_DATABASE = 10;
/** Each of its model calls takes a part of a second: far less than the grace time. */
const SCRIPT = 'bench(n2,k3,t20,m40,e20,d8)';
const CALLS = 4 + 2 * (3 + 1);
const ORDER: readonly ServiceName[] = ['scratchpad', 'supervisor', 'supervisor', 'worker', 'worker', 'gateway'];

const directory = `${testServicesDirectory()}/rolling-${process.pid}`;
const log: string[] = [];
const cleanups: (() => unknown)[] = [];
let database: TestDatabase;
let redisUrl: string;
let model: ModelServer;
let stack: Stack;
let client: Client;
let sql: Sql;

beforeAll(async () => {
  database = await createTestDatabase();
  cleanups.push(() => database.drop());
  redisUrl = `${database.redisUrl.replace(/\/\d*$/, '')}/${REDIS_DATABASE}`;
  model = await startModelServer({ scripts: SCRIPTS, defaultScript: SCRIPTS.find(({ name }) => name === 'happy')! });
  cleanups.push(() => model.close());
  const env = { MODEL_BASE_URL: `${model.url}/v1`, MODEL_API_KEY: 'scripted', MODEL_NAME: 'scripted', SEARCH_PROVIDER: 'searxng', SEARXNG_URL: model.url, WEB_ALLOW_PRIVATE_HOSTS: new URL(model.url).host };
  stack = await startStack({ directory, databaseUrl: database.url, redisUrl, env, workers: 2, supervisors: 2, onLog: (line) => log.push(line) });
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }), () => stack.stop());
  client = createClient({ baseUrl: stack.url, apiKey: stack.apiKey });
  const source = await openDataSource({ url: database.url, connectionLimit: 2 });
  sql = new Sql(source);
  cleanups.push(() => source.destroy());
}, 90_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 60_000);

interface Asked {
  id: RunId;
  token: string;
}

async function ask(token: string): Promise<Asked> {
  const create = () => client.createRun({ question: `Rolling ${token}: what is known? ${SCRIPT} run.${token}`, budget_credits: 10_000 });
  return { id: (await create()).id, token };
}

const has = (asked: Asked): number => model.records.list().find(({ id }) => id === asked.token)?.modelRequests ?? 0;
const until = (what: string, condition: () => boolean | Promise<boolean>) => waitUntil(condition, { what, timeoutMs: 60_000 });

/** SIGTERM, the end of that process, and another that is ready in its place. */
async function restart(service: ServiceName, index: number): Promise<void> {
  const pid = stack.pids()[service][index];
  const ended = () => log.find((line) => line.includes(`(pid ${pid}) ended`));
  process.kill(pid!, 'SIGTERM');
  await until(`the end of ${service} ${pid}`, () => ended() !== undefined);
  expect(ended()).toContain('exit code 0');
  const title = ended()!.split(' (')[0]!;
  await until(`${title} to be back`, () => log.slice(log.indexOf(ended()!)).some((line) => line.startsWith(`${title} is back`)));
}

it('[Q-30] [Q-04] [P08] all services are restarted one after the other under load: no run fails and nothing settled is repeated', async () => {
  const runs: Asked[] = [];
  for (const [position, service] of ORDER.entries()) {
    runs.push(await ask(`before${position}`), await ask(`beside${position}`));
    await until('work in flight', () => has(runs.at(-1)!) >= 2);
    await restart(service, ORDER.slice(0, position).filter((name) => name === service).length);
  }
  await until('the end of all runs', async () => (await sql.rows('SELECT 1 FROM runs WHERE ended_at IS NULL LIMIT 1')).length === 0);
  const stopped = await sql.rows(`SELECT stop_reason, COUNT(*) AS runs FROM runs WHERE role = 'supervisor' GROUP BY stop_reason`);
  expect(stopped.map((row) => [row['stop_reason'], Number(row['runs'])])).toEqual([['answered', runs.length]]);
  // what was asked of the model is what was settled: no call was lost with a process, none was made twice
  expect(await sql.rows(`SELECT run_id FROM attempts WHERE outcome = 'lost'`)).toEqual([]);
  expect(runs.map((asked) => [asked.token, has(asked)])).toEqual(runs.map(({ token }) => [token, CALLS]));
  expect(await stalledJobs()).toBe(0);
  expect((await runOracles(database.url)).filter(({ violations }) => violations > 0)).toEqual([]);
}, 180_000);

async function stalledJobs(): Promise<number> {
  const redis = connectRedis(redisUrl, 'consumer', () => undefined);
  try {
    const streams = await redis.keys('*:events');
    const entries = await Promise.all(streams.map((stream) => redis.xrange(stream, '-', '+')));
    return entries.flat().filter(([, fields]) => fields[fields.indexOf('event') + 1] === 'stalled').length;
  } finally {
    redis.disconnect();
  }
}
