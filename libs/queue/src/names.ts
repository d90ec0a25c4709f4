/**
 * Keys of one database incarnation: a recreated or restored database never meets jobs of its former life. The braces keep all keys of
 * the queues in one slot of a Redis cluster.
 */
export const queuePrefix = (incarnation: string): string => `{quaestor:${incarnation}}`;

/** Pub/sub channel that says "look again" for a root run; the message is its id. */
export const eventsChannel = (incarnation: string): string => `quaestor:${incarnation}:events`;

/** Stream of the live text of a root run's model calls. All of them are in one slot of a Redis cluster, so that one read takes many. */
export const liveKey = (incarnation: string, rootRunId: string): string => `{quaestor:${incarnation}:live}:${rootRunId}`;

/** Stream that wakes one reader of live streams when it shall read others. */
export const liveWakeKey = (incarnation: string, reader: string): string => `{quaestor:${incarnation}:live}:wake:${reader}`;

/** Pub/sub channel of cancels; the message is a root run id. */
export const cancelsChannel = (incarnation: string): string => `quaestor:${incarnation}:cancels`;
