import { QuaestorError } from '#contracts';
import { ApiKeyRepository, CancelRepository, CheckpointRepository, EstimateRepository, EventRepository, IdempotencyRepository, openDataSource, OutboxRepository, readIncarnation, RunAcceptanceRepository, RunCensusRepository, RunCopyRepository, RunResumptionRepository, RunViewRepository, SpendRepository, Sql, watchIncarnation } from '#database';
import { collectNodeMetrics, gauge, type Logger } from '#platform';
import { cancelsChannel, checkRedis, connectRedis, dashboardQueues, eventsChannel, JobSender, LiveReader, Notifier, queuePrefix, tellCancelled } from '#queue';
import type { Redis } from 'ioredis';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import { Authentication } from './auth/authentication.ts';
import { defaultTenant } from './auth/shipped-assistants.ts';
import type { GatewayConfig } from './config.ts';
import { EstimatesService } from './estimates/estimates.service.ts';
import { EventHub } from './events/event-hub.ts';
import { CLOSING_FRAME } from './events/frames.ts';
import { listenToWakeUps } from './events/wake-ups.ts';
import { showStores } from './health/store-gauges.ts';
import { describeInstallation, readVersion } from './info/about.ts';
import { RunsService, type Hints } from './runs/runs.service.ts';

const EXPIRED_KEYS_EVERY_MS = 3_600_000;
const FINISH_REQUESTS_MS = 1_000;
const READERS_EVERY_MS = 5_000;

const readers = gauge('event_stream_readers', 'Open event streams of this process.', {});

/** A listening gateway. */
export interface Gateway {
  readonly port: number;
  readonly hub: EventHub;
  /** Stops accepting, ends event streams with a hint to come back, and closes all connections. Safe to repeat. */
  stop(): Promise<void>;
}

/**
 * Opens the database and Redis, makes sure that the default tenant exists, and listens.
 * `onReplaced` is told, with `DATABASE_REPLACED`, when the database is another than the one it opened: whoever runs the gateway starts it again. Default: a line of the log.
 * @throws QuaestorError `DATABASE_UNREACHABLE`, `DATABASE_UNSUITABLE`, `REDIS_UNREACHABLE`, `REDIS_EVICTS_KEYS`, `PORT_IN_USE`
 */
export async function startGateway(config: GatewayConfig, logger: Logger, onReplaced = (error: QuaestorError): void => logger.error(error.message)): Promise<Gateway> {
  const steps: (() => Promise<unknown> | unknown)[] = [];
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= runAll(steps.toReversed(), logger));
  try {
    return { ...(await start({ config, logger, onReplaced }, (step) => steps.push(step))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type OnStop = (step: () => Promise<unknown> | unknown) => void;

interface Start {
  config: GatewayConfig;
  logger: Logger;
  onReplaced(error: QuaestorError): void;
}

async function start({ config, logger, onReplaced }: Start, onStop: OnStop): Promise<Omit<Gateway, 'stop'>> {
  const dataSource = await openDataSource({ url: config.DATABASE_URL });
  onStop(() => dataSource.destroy());
  await checkRedis(config.REDIS_URL);
  const sql = new Sql(dataSource);
  const incarnation = await readIncarnation(sql);
  onStop(watchIncarnation({ sql, incarnation, onReplaced }));
  const keys = new ApiKeyRepository(sql);
  await keys.ensureTenant(defaultTenant(config));
  const authentication = new Authentication(keys);
  const queues = openQueues(config.REDIS_URL, incarnation, sql, logger, onStop);
  collectNodeMetrics();
  onStop(showStores(queues.sender, new RunCensusRepository(sql)));
  const hub: EventHub = openHub(sql, authentication, logger, onStop, openLive(config.REDIS_URL, incarnation, queues.redis, logger, onStop, (...frames) => hub.takeLive(...frames)));
  const subscriber = connectRedis(config.REDIS_URL, 'consumer', redisProblem(logger));
  onStop(() => subscriber.disconnect());
  listenToWakeUps(subscriber, eventsChannel(incarnation), hub);
  const views = new RunViewRepository(sql, config.MODEL_NAME);
  const estimates = new EstimatesService(new EstimateRepository(sql), config);
  const info = describeInstallation(config, readVersion());
  const app = await createApp({
    parts: {
      runs: new RunsService(new RunAcceptanceRepository(sql), views, new CancelRepository(sql), queues.hints, estimates, {
        checkpoints: new CheckpointRepository(sql, views),
        copies: new RunCopyRepository(sql, () => randomBytes(17)),
        resumptions: new RunResumptionRepository(sql),
        providers: { search_provider: info.search_provider },
      }),
      hub,
      events: new EventRepository(sql),
      estimates,
      spend: new SpendRepository(sql),
      checks: { database: () => sql.rows('SELECT 1'), redis: () => queues.redis.ping() },
      info,
    },
    authentication,
    logger,
    ...(config.ADMIN_KEY === undefined ? {} : { admin: { key: config.ADMIN_KEY, queues: dashboardQueues(queues.sender) } }),
  });
  onStop(() => closeServer(app));
  await listen(app, config);
  // before the server, which waits for open answers
  onStop(() => hub.close(CLOSING_FRAME));
  return { port: (app.getHttpServer().address() as AddressInfo).port, hub };
}

function openQueues(redisUrl: string, incarnation: string, sql: Sql, logger: Logger, onStop: OnStop) {
  const redis = connectRedis(redisUrl, 'producer', redisProblem(logger));
  redis.on('close', () => logger.warn('the connection to Redis is gone; jobs wait in the outbox until it is back'));
  // one line per outage is enough: a job that was not sent is found by the sweeper
  const onError = (error: unknown): void => logger.debug({ err: error }, 'a job was not sent');
  const sender = new JobSender({ redis, prefix: queuePrefix(incarnation), outbox: new OutboxRepository(sql), onError });
  const notifier = new Notifier(redis, eventsChannel(incarnation));
  onStop(() => redis.disconnect());
  onStop(async () => {
    notifier.close();
    await sender.close();
  });
  const hints: Hints = {
    send: (jobs) => void sender.send(jobs),
    cancelled: (rootRunId) => tellCancelled(redis, cancelsChannel(incarnation), rootRunId),
    touched: notifier.touched.bind(notifier),
  };
  return { redis, sender, hints };
}

/** Live text of all runs that are followed here, over one connection of its own. */
function openLive(redisUrl: string, incarnation: string, redis: Redis, logger: Logger, onStop: OnStop, onFrames: EventHub['takeLive']): LiveReader {
  const blocking = connectRedis(redisUrl, 'consumer', redisProblem(logger));
  const live = new LiveReader({ blocking, redis, incarnation, onFrames, onError: redisProblem(logger) });
  onStop(() => live.close());
  return live;
}

const redisProblem =
  (logger: Logger) =>
  (error: unknown): void =>
    logger.debug({ err: error }, 'Redis connection');

function openHub(sql: Sql, authentication: Authentication, logger: Logger, onStop: OnStop, live: LiveReader): EventHub {
  const hub = new EventHub({
    live,
    events: new EventRepository(sql),
    findRevoked: (ids) => authentication.findRevoked(ids),
    onProblem: (error) => logger.warn({ err: error }, 'events could not be read; they are tried again'),
  });
  const idempotency = new IdempotencyRepository(sql);
  const forgetKeys = (): void => {
    idempotency.removeExpired().catch((error: unknown) => logger.warn({ err: error }, 'old idempotency keys were not removed'));
  };
  const timers = [setInterval(() => readers.set({}, hub.readerCount), READERS_EVERY_MS), setInterval(forgetKeys, EXPIRED_KEYS_EVERY_MS)];
  for (const timer of timers) timer.unref();
  onStop(() => timers.forEach((timer) => clearInterval(timer)));
  onStop(() => hub.close(CLOSING_FRAME));
  return hub;
}

async function listen(app: NestFastifyApplication, { GATEWAY_HOST: host, GATEWAY_PORT: port }: GatewayConfig): Promise<void> {
  await app.init();
  try {
    // not through the framework, which would log a failure in its own words
    await app.getHttpAdapter().getInstance().listen({ port, host });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new QuaestorError('PORT_IN_USE', `Port ${port} on ${host} is in use: set GATEWAY_PORT to a free one.`, { cause: error });
  }
}

/** Lets requests that are being answered finish, for a second; then their connections are cut. */
async function closeServer(app: NestFastifyApplication): Promise<void> {
  const server = app.getHttpServer();
  const timer = setTimeout(() => server.closeAllConnections(), FINISH_REQUESTS_MS);
  await app.close();
  clearTimeout(timer);
}

/** Each step once, in order; one that fails does not keep the others from running. */
async function runAll(steps: (() => Promise<unknown> | unknown)[], logger: Logger): Promise<void> {
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      logger.warn({ err: error }, 'a step of stopping failed');
    }
  }
}
