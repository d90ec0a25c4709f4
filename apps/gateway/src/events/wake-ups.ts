import { RunId } from '#contracts';
import type { Redis } from 'ioredis';
import type { EventHub } from './event-hub.ts';

/**
 * The one subscription of this process: a root run has new events. Redis may be away at any time; then the hub's poll serves, and after each
 * reconnect everybody looks once, because messages of the meantime are lost.
 */
export function listenToWakeUps(subscriber: Redis, channel: string, hub: EventHub): void {
  subscriber.on('message', (_channel: string, message: string) => {
    const runId = RunId.safeParse(message);
    if (runId.success) hub.wake(runId.data);
  });
  subscriber.on('ready', () => hub.wakeAll());
  // waits for a connection, and is repeated by the client after each reconnect; it only fails when the connection is closed for good
  subscriber.subscribe(channel).catch(() => undefined);
}
