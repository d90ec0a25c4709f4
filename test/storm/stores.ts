import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import { connectRedis } from '#queue';
import { environment, identifyProcess, isAlive, startLocalServices, statusLocalServices } from '#platform';

export type Store = 'redis' | 'database';

const RETRY_EVERY_MS = 50;
const RETRY_FOR_MS = 60_000;

/** The private Redis and database of a storm, which may be killed and come back on their data and ports. */
export class Stores {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** When each store was last away, epoch milliseconds. */
  readonly lastAwayMs: Record<Store, number> = { redis: 0, database: 0 };
  readonly #directory: string;
  readonly #databaseName: string;
  readonly #leave: () => Promise<void>;
  #pool: mysql.Pool;

  static async start(directory: string): Promise<Stores> {
    const services = await startLocalServices({ directory });
    return new Stores(directory, services.databaseUrl, services.redisUrl, () => services.stop());
  }

  private constructor(directory: string, serverUrl: string, redisUrl: string, leave: () => Promise<void>) {
    this.#directory = directory;
    this.#databaseName = `storm_${randomBytes(5).toString('hex')}`;
    const url = new URL(serverUrl);
    url.pathname = `/${this.#databaseName}`;
    this.databaseUrl = url.toString();
    this.redisUrl = redisUrl;
    this.#leave = leave;
    this.#pool = mysql.createPool({ uri: this.databaseUrl, connectionLimit: 4, timezone: 'Z' });
  }

  /** True when both are processes of ours, so that they may be killed. */
  static get arePrivate(): boolean {
    return environment()['DATABASE_URL'] === undefined && environment()['REDIS_URL'] === undefined;
  }

  /** Rows, whatever happens to the database meanwhile: tried again for a minute. */
  async rows(sql: string, values: unknown[] = []): Promise<mysql.RowDataPacket[]> {
    const deadlineMs = performance.now() + RETRY_FOR_MS;
    for (;;) {
      try {
        return (await this.#pool.query<mysql.RowDataPacket[]>(sql, values))[0];
      } catch (error) {
        if (performance.now() > deadlineMs || !isAway(error)) throw error;
        await delay(RETRY_EVERY_MS);
      }
    }
  }

  /** Rows, or none when the database is away just now. */
  async rowsIfThere(sql: string): Promise<mysql.RowDataPacket[]> {
    return this.#pool.query<mysql.RowDataPacket[]>(sql).then(([rows]) => rows, () => []);
  }

  /** SIGKILL and start again. Gives the pids before and after as evidence; throws when the process did not die. */
  async kill(store: Store): Promise<string> {
    const name = store === 'redis' ? 'redis' : 'database';
    const before = (await statusLocalServices(this.#directory)).find((service) => service.name === name)?.pid;
    const identity = before === undefined ? undefined : identifyProcess(before);
    if (before === undefined || identity === undefined) throw new Error(`the ${store} was not running when it was to be killed`);
    process.kill(before, 'SIGKILL');
    this.lastAwayMs[store] = Date.now();
    const deadlineMs = performance.now() + 5_000;
    while (isAlive(identity)) {
      if (performance.now() > deadlineMs) throw new Error(`the ${store} (pid ${before}) survived SIGKILL`);
      await delay(5);
    }
    await startLocalServices({ directory: this.#directory });
    this.lastAwayMs[store] = Date.now();
    const after = (await statusLocalServices(this.#directory)).find((service) => service.name === name)?.pid;
    return `pid ${before} ended by SIGKILL, pid ${after} answers`;
  }

  /** Empties Redis. Gives the number of keys before and after. */
  async flushRedis(): Promise<string> {
    const redis = connectRedis(this.redisUrl, 'consumer', () => undefined);
    try {
      const before = await redis.dbsize();
      await redis.flushall();
      this.lastAwayMs.redis = Date.now();
      return `${before} keys before, ${await redis.dbsize()} after`;
    } finally {
      redis.disconnect();
    }
  }

  async stop(isKept: boolean): Promise<void> {
    if (!isKept) await this.#pool.query(`DROP DATABASE IF EXISTS \`${this.#databaseName}\``).catch(() => undefined);
    await this.#pool.end();
    await this.#leave();
  }
}

/** A broken or refused connection; an answer of the server about a statement is none. */
function isAway(error: unknown): boolean {
  const { code, fatal, errno } = error as { code?: string; fatal?: boolean; errno?: number };
  return fatal === true || code === 'ECONNREFUSED' || code === 'PROTOCOL_CONNECTION_LOST' || (errno !== undefined && (errno < 0 || errno === 1053 || errno === 1927));
}
