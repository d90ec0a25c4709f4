import { SSE_HEARTBEAT_MS, type ApiKeyId, type LiveFrame, type RunId } from '#contracts';
import type { EventRepository } from '#database';
import { HEARTBEAT_FRAME } from './frames.ts';
import { RunFeed, type FeedReader } from './run-feed.ts';

export interface EventHubOptions {
  events: Pick<EventRepository, 'readAfter' | 'newestSeqs'>;
  /** Reads live text of runs that have readers here. Without it there is none. */
  live?: { follow(runId: RunId): void; leave(runId: RunId): void };
  /** Which of these keys were revoked; their streams end. */
  findRevoked: (apiKeyIds: ApiKeyId[]) => Promise<ApiKeyId[]>;
  /** Told about failed reads; they are tried again. */
  onProblem?: (error: unknown) => void;
  /** Milliseconds between the polls that find what a lost wake-up missed. Default 1,000. */
  pollMs?: number;
  /** Default `SSE_HEARTBEAT_MS`. */
  heartbeatMs?: number;
  /** Milliseconds between the checks for revoked keys. Default 30,000. */
  revocationCheckMs?: number;
}

const POLL_MS = 1_000;
const REVOCATION_CHECK_MS = 30_000;

/**
 * All event streams of this process. Rows are the truth; wake-ups only say that there may be new ones, and a poll of one query per second
 * for all runs together finds what they missed. Readers of one run share its reads.
 */
export class EventHub {
  readonly #options: EventHubOptions;
  readonly #feeds = new Map<RunId, RunFeed>();
  readonly #timers: NodeJS.Timeout[];
  #polling = false;

  constructor(options: EventHubOptions) {
    this.#options = options;
    this.#timers = [
      setInterval(() => void this.#poll(), options.pollMs ?? POLL_MS),
      setInterval(() => this.#heartbeat(), options.heartbeatMs ?? SSE_HEARTBEAT_MS),
      setInterval(() => void this.#endRevoked(), options.revocationCheckMs ?? REVOCATION_CHECK_MS),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  get readerCount(): number {
    let count = 0;
    for (const feed of this.#feeds.values()) count += feed.readers.size;
    return count;
  }

  get feedCount(): number {
    return this.#feeds.size;
  }

  /** Bytes that wait for readers, in all. */
  get bufferedBytes(): number {
    let bytes = 0;
    for (const feed of this.#feeds.values()) for (const { writer } of feed.readers) bytes += writer.bufferedBytes;
    return bytes;
  }

  /** From now on the reader gets everything after `reader.after`, until it leaves or the run ends. */
  add(runId: RunId, reader: FeedReader): void {
    // a connection that went away during the checks has told nobody
    if (reader.writer.isClosed) return;
    const feed = this.#feeds.get(runId) ?? this.#newFeed(runId);
    feed.readers.add(reader);
    reader.writer.onClose = () => this.#remove(feed, reader);
    reader.writer.onDrain = () => {
      feed.live.catchUp(reader);
      void feed.pump();
    };
    feed.live.catchUp(reader);
    void feed.pump();
  }

  /** There may be new rows of this run. */
  wake(runId: RunId): void {
    void this.#feeds.get(runId)?.pump();
  }

  /** Wake-ups may have been lost for any run. */
  wakeAll(): void {
    for (const feed of this.#feeds.values()) void feed.pump();
  }

  /** Live frames of a run, as the reader of live streams gives them. */
  takeLive(runId: RunId, frames: LiveFrame[], isFirst: boolean): void {
    this.#feeds.get(runId)?.takeLive(frames, isFirst);
  }

  /** Ends all streams with `lastFrame`. */
  close(lastFrame: string): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const feed of this.#feeds.values()) for (const { writer } of feed.readers) writer.end(lastFrame);
  }

  #newFeed(runId: RunId): RunFeed {
    const feed = new RunFeed(runId, this.#options.events, (error) => this.#options.onProblem?.(error));
    this.#feeds.set(runId, feed);
    this.#options.live?.follow(runId);
    return feed;
  }

  #remove(feed: RunFeed, reader: FeedReader): void {
    feed.readers.delete(reader);
    if (feed.readers.size > 0 || this.#feeds.get(feed.runId) !== feed) return;
    feed.live.close();
    this.#feeds.delete(feed.runId);
    this.#options.live?.leave(feed.runId);
  }

  async #poll(): Promise<void> {
    if (this.#polling || this.#feeds.size === 0) return;
    this.#polling = true;
    try {
      const newest = await this.#options.events.newestSeqs([...this.#feeds.keys()]);
      for (const [runId, seq] of newest) {
        const feed = this.#feeds.get(runId);
        if (feed && seq > feed.lowestPosition) void feed.pump();
      }
    } catch (error) {
      this.#options.onProblem?.(error);
    } finally {
      this.#polling = false;
    }
  }

  #heartbeat(): void {
    const frame = Buffer.from(HEARTBEAT_FRAME);
    for (const feed of this.#feeds.values()) for (const { writer } of feed.readers) if (!writer.isBlocked) writer.write(frame);
  }

  async #endRevoked(): Promise<void> {
    const readers = [...this.#feeds.values()].flatMap((feed) => [...feed.readers]);
    try {
      const revoked = new Set(await this.#options.findRevoked([...new Set(readers.map((reader) => reader.apiKeyId))]));
      for (const reader of readers) if (revoked.has(reader.apiKeyId)) reader.writer.end();
    } catch (error) {
      this.#options.onProblem?.(error);
    }
  }
}
