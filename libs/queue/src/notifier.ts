import type { Redis } from 'ioredis';
import type { RunId, TransientEventBody } from '#contracts';

/** How long wake-ups and live text are gathered: one publish per run and interval, however many commits or tokens there were. */
const GATHER_MS = 10;

type LiveText = Extract<TransientEventBody, { type: 'content' | 'reasoning' }>;

export interface NotifierChannels {
  /** Message: a root run id, "look again". */
  events: string;
  /** Message: a root run id, a space, and the JSON of one transient event. */
  live: string;
}

/**
 * Tells gateways that a root run has new events, and passes on live text of its model call. Nothing depends on it: readers poll, and the
 * settlement holds the whole text.
 */
export class Notifier {
  readonly #redis: Redis;
  readonly #channels: NotifierChannels;
  readonly #touched = new Set<RunId>();
  readonly #live = new Map<RunId, LiveText[]>();
  #timer: NodeJS.Timeout | undefined;
  #publishedAtMs = 0;

  constructor(redis: Redis, channels: NotifierChannels) {
    this.#redis = redis;
    this.#channels = channels;
  }

  /** The first touch of a quiet while goes out at once; what follows within the interval goes out together. */
  touched(rootRunId: RunId): void {
    this.#touched.add(rootRunId);
    if (this.#timer === undefined && performance.now() - this.#publishedAtMs >= GATHER_MS) this.#publish();
    else this.#arm();
  }

  live(rootRunId: RunId, frame: LiveText): void {
    const frames = this.#live.get(rootRunId) ?? [];
    const last = frames.at(-1);
    if (last && last.type === frame.type && last.turn === frame.turn && last.attempt === frame.attempt) last.content += frame.content;
    else frames.push({ ...frame });
    this.#live.set(rootRunId, frames);
    this.#arm();
  }

  #arm(): void {
    this.#timer ??= setTimeout(() => this.#publish(), GATHER_MS);
  }

  #publish(): void {
    this.#timer = undefined;
    this.#publishedAtMs = performance.now();
    const send = (channel: string, message: string) => void this.#redis.publish(channel, message).catch(() => undefined);
    // text first: it belongs before the facts that follow it
    for (const [rootRunId, frames] of this.#live) for (const frame of frames) send(this.#channels.live, `${rootRunId} ${JSON.stringify(frame)}`);
    for (const rootRunId of this.#touched) send(this.#channels.events, rootRunId);
    this.#live.clear();
    this.#touched.clear();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#publish();
  }
}
