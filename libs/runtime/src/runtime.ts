import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { DataSource } from 'typeorm';
import { openDataSource, OutboxRepository, readIncarnation, Sql } from '#database';
import { createLogger, type Logger } from '#platform';
import { cancelsChannel, checkRedis, connectRedis, eventsChannel, JobSender, LiveWriter, Notifier, queuePrefix, QueueKeeper, type ConnectionKind } from '#queue';
import type { RuntimeConfig } from './config.ts';

const ID_BYTES = 17;
/** Well above every lock wait and retry; a process must not hang on a connection whose other end is gone. */
const DATABASE_ANSWER_TIMEOUT_MS = 60_000;
const MIN_LEASE_ANSWER_MS = 5_000;

/** What one process holds open, made once at boot and closed in reverse order. */
export class Runtime {
  readonly service: string;
  readonly config: RuntimeConfig;
  readonly logger: Logger;
  readonly dataSource: DataSource;
  readonly sql: Sql;
  /** A connection of its own for leases: a heartbeat must not queue behind the work whose leases it keeps. */
  readonly leaseSql: Sql;
  readonly #leaseSource: DataSource;
  /** The database's, as of this start. */
  readonly incarnation: string;
  readonly prefix: string;
  readonly cancelsChannel: string;
  /** This process, as its leases name it. */
  readonly owner: string;
  readonly sender: JobSender;
  readonly notifier: Notifier;
  /** The queues of this database, and what others have left behind. */
  readonly queues: QueueKeeper;
  readonly live: LiveWriter;
  readonly #redis: Redis;
  /** What people should know about this start, one sentence each; said with the ready line. */
  readonly notices: string[] = [];
  readonly #connections: Redis[] = [];
  #random = Buffer.alloc(0);

  /** Checks and opens database and Redis. Throws `DATABASE_*` or `REDIS_*` with one sentence. */
  static async open(service: string, config: RuntimeConfig): Promise<Runtime> {
    const logger = createLogger({ service, level: config.LOG_LEVEL });
    await checkRedis(config.REDIS_URL);
    const dataSource = await openDataSource({ url: config.DATABASE_URL, connectionLimit: config.DATABASE_CONNECTIONS });
    try {
      const leaseSource = await openDataSource({ url: config.DATABASE_URL, connectionLimit: 1 });
      return new Runtime(service, config, logger, dataSource, leaseSource, await readIncarnation(new Sql(leaseSource)));
    } catch (error) {
      await dataSource.destroy();
      throw error;
    }
  }

  private constructor(service: string, config: RuntimeConfig, logger: Logger, dataSource: DataSource, leaseSource: DataSource, incarnation: string) {
    this.service = service;
    this.config = config;
    this.logger = logger;
    this.dataSource = dataSource;
    // beyond a lease another process may have the work
    this.sql = new Sql(dataSource, { answerTimeoutMs: DATABASE_ANSWER_TIMEOUT_MS, patienceMs: config.LEASE_TTL_MS });
    this.#leaseSource = leaseSource;
    this.leaseSql = new Sql(leaseSource, { answerTimeoutMs: Math.max(MIN_LEASE_ANSWER_MS, config.LEASE_TTL_MS) });
    this.incarnation = incarnation;
    this.prefix = queuePrefix(incarnation);
    this.cancelsChannel = cancelsChannel(incarnation);
    this.owner = `${service}-${process.pid}-${randomBytes(4).toString('hex')}`;
    const redis = this.connect('producer');
    this.#redis = redis;
    this.sender = new JobSender({ redis, prefix: this.prefix, outbox: new OutboxRepository(this.sql), onError: (error) => this.report('queue', error) });
    this.queues = new QueueKeeper(redis, this.prefix);
    this.notifier = new Notifier(redis, eventsChannel(incarnation));
    this.live = new LiveWriter(redis, incarnation);
  }

  /** A Redis connection of this process; closed with it. */
  connect(kind: ConnectionKind): Redis {
    const redis = connectRedis(this.config.REDIS_URL, kind, (error) => this.report('redis', error));
    this.#connections.push(redis);
    return redis;
  }

  pingRedis(): Promise<unknown> {
    return this.#redis.ping();
  }

  /** Something went wrong that others will make good (the sweeper, a reconnect): said, not thrown. */
  report(where: string, error: unknown): void {
    this.logger.warn({ where, error: error instanceof Error ? error.message : String(error) }, 'recoverable failure');
  }

  /** 17 random bytes, cut from a pool: one call of the system for 240 ids. */
  randomBytes = (): Uint8Array => {
    if (this.#random.length < ID_BYTES) this.#random = randomBytes(ID_BYTES * 240);
    const bytes = this.#random.subarray(0, ID_BYTES);
    this.#random = this.#random.subarray(ID_BYTES);
    return bytes;
  };

  async close(): Promise<void> {
    this.live.close();
    this.notifier.close();
    await this.sender.close();
    for (const redis of this.#connections) redis.disconnect();
    await this.#leaseSource.destroy();
    await this.dataSource.destroy();
  }
}
