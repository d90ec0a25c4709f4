import { RunId, type TransientEventBody } from '#contracts';
import type { NotifierChannels } from '#queue';
import type { Redis } from 'ioredis';
import type { EventHub } from './event-hub.ts';

/**
 * The one subscription of this process: wake-ups (a root run has new events) and live text. Redis may be away at any time; then the hub's
 * poll serves, and after each reconnect everybody looks once, because messages of the meantime are lost.
 */
export function listenToWakeUps(subscriber: Redis, channels: NotifierChannels, hub: EventHub): void {
  subscriber.on('message', (channel: string, message: string) => {
    if (channel === channels.live) passLiveText(message, hub);
    else wake(message, hub);
  });
  subscriber.on('ready', () => hub.wakeAll());
  // waits for a connection, and is repeated by the client after each reconnect; it only fails when the connection is closed for good
  subscriber.subscribe(channels.events, channels.live).catch(() => undefined);
}

function wake(message: string, hub: EventHub): void {
  const runId = RunId.safeParse(message);
  if (runId.success) hub.wake(runId.data);
}

/** Text of runs that nobody reads here is not even parsed. */
function passLiveText(message: string, hub: EventHub): void {
  const space = message.indexOf(' ');
  const runId = message.slice(0, space) as RunId;
  if (hub.hasReaders(runId)) hub.pushTransient(runId, JSON.parse(message.slice(space + 1)) as TransientEventBody, new Date());
}
