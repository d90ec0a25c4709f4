import { createServer, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { zstdDecompressSync } from 'node:zlib';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { behindGate, createModels, modelConfig } from '#models';
import { createLogger } from '#platform';
import { connectRedis, RedisModelGate } from '#queue';
import { AgentWorld, CHAT_WRITER, testServices, type PlayedDependencies } from '#testing';

/** Looks like no key that a pattern would know: only who holds it can find it. */
const CANARY = 'Canary0PlantedKey7391xyzzy';
const ECHO = `Your key ${CANARY} is known: https://api.example/v1?key=${CANARY} Bearer ${CANARY}`;

type Answer = (response: ServerResponse) => void;

let world: AgentWorld;
let server: Server;
let redis: Redis;
let answers: Answer[] = [];
const keysSent = new Set<string | undefined>();

const status =
  (code: number): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', 'retry-after-ms': '5', 'x-echo': CANARY });
    response.end(JSON.stringify({ error: { message: ECHO, type: CANARY, code: CANARY, param: CANARY } }));
  };

const stream =
  (...events: string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-echo': CANARY });
    response.end(events.join(''));
  };

beforeAll(async () => {
  world = await AgentWorld.open();
  redis = connectRedis((await testServices()).redisUrl, 'consumer', () => undefined);
  server = createServer((request, response) => {
    keysSent.add(request.headers.authorization);
    request.resume().on('end', () => (answers.length > 1 ? answers.shift() : answers[0])?.(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  redis.disconnect();
  await world.close();
});

/** The loop with real models behind the real gate; errors and events also go through the real logger. */
function play(lines: string[]): PlayedDependencies {
  const gate = new RedisModelGate({ redis, limit: 4, random: () => 0, onError: () => undefined });
  const settings = { MODEL_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, MODEL_NAME: 'scripted', MODEL_API_KEY: CANARY, MODEL_CONCURRENCY_MAX: '4' };
  const models = createModels(modelConfig.parse(settings), behindGate(gate));
  const [choice] = models.supervisor;
  const logger = createLogger({ service: 'spec', level: 'trace', destination: { write: (line: string) => void lines.push(line) } });
  const model = {
    id: choice.model.id,
    host: choice.model.host,
    stream: (...call: Parameters<typeof choice.model.stream>) =>
      choice.model.stream(...call).catch((error: unknown) => {
        logger.error({ error, config: choice }, 'a model call failed');
        throw error;
      }),
  };
  const logged = { ...choice, model };
  return world.dependencies(() => ({ text: 'never asked' }), { models: { supervisor: [logged], worker: [logged], synthesis: [logged] }, live: (runId, frame) => void logger.info({ runId, frame }, 'live') });
}

const decoded = (value: unknown): string => {
  if (!Buffer.isBuffer(value)) return String(value);
  try {
    return zstdDecompressSync(value).toString('utf8');
  } catch {
    return value.toString('latin1');
  }
};

async function databaseDump(): Promise<string> {
  const tables = await world.rows('SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()');
  const dumps = await Promise.all(tables.map(async ({ name }) => (await world.rows(`SELECT * FROM \`${String(name)}\``)).map((row) => Object.values(row).map(decoded).join('|')).join('\n')));
  return dumps.join('\n');
}

async function redisDump(): Promise<string> {
  const dumped: string[] = [];
  for (const key of await redis.keys('*')) dumped.push(key, (await redis.dumpBuffer(key))?.toString('latin1') ?? '');
  return dumped.join('\n');
}

/** What Redis holds while the call is open: afterwards its place in the line is gone. */
let redisMeanwhile = '';
const dumpedFirst =
  (answer: Answer): Answer =>
  (response) =>
    void redisDump().then((dump) => {
      redisMeanwhile = dump;
      answer(response);
    });

it('[Q-27] [B38] [L43] the key of a model stands in no row, key, log line, event or report, whatever its server echoes', async () => {
  const lines: string[] = [];
  const planned = CHAT_WRITER.events({ text: ['A plan. '], calls: [{ id: 'c1', name: 'update_scratchpad', pieces: ['{"content":"one"}'] }], finish: 'tool-calls' });
  answers = [status(429), status(503), dumpedFirst(stream(...planned)), stream(planned[0]!, CHAT_WRITER.error('overloaded_error', ECHO)), stream(`data: {"broken ${CANARY}\n\n`), stream(...CHAT_WRITER.events({ text: ['Nothing was found.'], finish: 'stop' })), status(401)];
  const played = play(lines);
  const first = await world.newRun();
  const second = await world.newRun();
  await world.drive(played, first.runId);
  await world.drive(played, second.runId);
  expect([...keysSent]).toEqual([`Bearer ${CANARY}`]);
  expect(await world.rows('SELECT outcome, error_code FROM attempts WHERE run_id = ? ORDER BY turn, attempt', [first.runId])).toMatchObject([
    { error_code: 'MODEL_RATE_LIMITED' },
    { error_code: 'MODEL_OVERLOADED' },
    { outcome: 'completed' },
    { error_code: 'MODEL_OVERLOADED' },
    { error_code: 'MODEL_PROTOCOL_ERROR' },
    { outcome: 'completed' },
  ]);
  expect(await world.run(second.runId)).toMatchObject({ status: 'failed', last_error_code: 'MODEL_UNAUTHORIZED' });
  const dumps = { database: await databaseDump(), redis: redisMeanwhile + (await redisDump()), logs: lines.join('\n') };
  expect(dumps.database).toContain('Nothing was found.');
  expect(dumps.redis).toContain('quaestor:gate:');
  expect(dumps.logs).toContain('MODEL_UNAUTHORIZED');
  for (const [where, dump] of Object.entries(dumps)) expect([where, dump.toLowerCase().includes(CANARY.toLowerCase())]).toEqual([where, false]);
});
