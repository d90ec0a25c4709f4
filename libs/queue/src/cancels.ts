import type { Redis } from 'ioredis';
import { RunId } from '#contracts';

/** Says that a root run was cancelled. Nothing depends on it: whoever misses it learns it from the rows, a heartbeat later. */
export function tellCancelled(redis: Redis, channel: string, rootRunId: RunId): void {
  redis.publish(channel, rootRunId).catch(() => undefined);
}

/** The one subscription of this process to cancels; repeated by the client after each reconnect. */
export function listenToCancels(subscriber: Redis, channel: string, onCancelled: (rootRunId: RunId) => void): void {
  subscriber.on('message', (_channel: string, message: string) => {
    const rootRunId = RunId.safeParse(message);
    if (rootRunId.success) onCancelled(rootRunId.data);
  });
  // only fails when the connection is closed for good
  subscriber.subscribe(channel).catch(() => undefined);
}
