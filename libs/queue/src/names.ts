/**
 * Keys of one database incarnation: a recreated or restored database never meets jobs of its former life. The braces keep all keys of
 * the queues in one slot of a Redis cluster.
 */
export const queuePrefix = (incarnation: string): string => `{quaestor:${incarnation}}`;

/** Pub/sub channel that says "look again" for a root run; the message is its id. */
export const eventsChannel = (incarnation: string): string => `quaestor:${incarnation}:events`;

/** Pub/sub channel of live text; the message is a root run id, a space, and the JSON of one transient event. */
export const liveChannel = (incarnation: string): string => `quaestor:${incarnation}:live`;

/** Pub/sub channel of cancels; the message is a root run id. */
export const cancelsChannel = (incarnation: string): string => `quaestor:${incarnation}:cancels`;
