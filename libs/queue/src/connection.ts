import { Redis, type RedisOptions } from 'ioredis';
import { QuaestorError } from '#contracts';

/** `consumer` waits for Redis to come back; `producer` fails at once, because its job is in the outbox anyway. */
export type ConnectionKind = 'consumer' | 'producer';

const RECONNECT_MAX_MS = 2_000;

export function redisOptions(kind: ConnectionKind): RedisOptions {
  return {
    maxRetriesPerRequest: kind === 'consumer' ? null : 1,
    enableOfflineQueue: kind === 'consumer',
    retryStrategy: (times) => Math.min(RECONNECT_MAX_MS, 50 * 2 ** Math.min(times, 6)),
    connectTimeout: 5_000,
  };
}

/** A connection whose errors are reported, never thrown out of an event emitter. */
export function connectRedis(url: string, kind: ConnectionKind, onError: (error: Error) => void): Redis {
  const redis = new Redis(url, redisOptions(kind));
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
    const [, policy] = (await redis.config('GET', 'maxmemory-policy')) as [string, string];
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
