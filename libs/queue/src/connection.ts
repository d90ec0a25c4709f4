import { Redis, type RedisOptions } from 'ioredis';
import { QuaestorError } from '#contracts';

/** `consumer` waits for Redis to come back; `producer` fails at once, because its job is in the outbox anyway. */
export type ConnectionKind = 'consumer' | 'producer';

const RECONNECT_MAX_MS = 2_000;
/** Longest wait of one blocking read, seconds. */
export const IDLE_WAIT_SECONDS = 30;
/**
 * A connection on which a command has waited this long for any byte is dead: TCP alone would wait for a quarter of an hour. A consumer's
 * blocking read may last, so it is given longer.
 */
const SILENCE_MAX_MS: Record<ConnectionKind, number> = { consumer: (IDLE_WAIT_SECONDS + 15) * 1_000, producer: 5_000 };

/** A server that was a master when the connection was made: its successor is at the same address by now, or soon. */
const isDemoted = (error: Error): boolean => /READONLY|UNBLOCKED/.test(error.message);

export function redisOptions(kind: ConnectionKind, silenceMaxMs = SILENCE_MAX_MS[kind]): RedisOptions {
  return {
    socketTimeout: silenceMaxMs,
    reconnectOnError: isDemoted,
    maxRetriesPerRequest: kind === 'consumer' ? null : 1,
    enableOfflineQueue: kind === 'consumer',
    retryStrategy: (times) => Math.min(RECONNECT_MAX_MS, 50 * 2 ** Math.min(times, 6)),
    connectTimeout: 5_000,
  };
}

/** A connection whose errors are reported, never thrown out of an event emitter. `silenceMaxMs`: 45,000 for a consumer, 5,000 for a producer. */
export function connectRedis(url: string, kind: ConnectionKind, onError: (error: Error) => void, silenceMaxMs?: number): Redis {
  const redis = new Redis(url, redisOptions(kind, silenceMaxMs));
  redis.on('error', onError);
  return redis;
}

/**
 * Connects once at boot and refuses what cannot hold queues: an unreachable Redis (`REDIS_UNREACHABLE`), or one whose eviction policy may
 * drop keys (`REDIS_EVICTS_KEYS`).
 */
export async function checkRedis(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null, connectTimeout: 5_000 });
  redis.on('error', () => undefined); // the rejected promises below carry it
  try {
    await redis.connect();
    // managed servers refuse CONFIG
    const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
    if (policy !== undefined && policy !== 'noeviction') {
      throw new QuaestorError('REDIS_EVICTS_KEYS', `Redis at ${hostOf(url)} has maxmemory-policy ${policy}, which may drop jobs: set it to noeviction.`);
    }
  } catch (error) {
    if (error instanceof QuaestorError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new QuaestorError('REDIS_UNREACHABLE', `Redis at ${hostOf(url)} cannot be used (${reason}): check REDIS_URL and that the server runs.`, { cause: error });
  } finally {
    redis.disconnect();
  }
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return 'REDIS_URL';
  }
}
