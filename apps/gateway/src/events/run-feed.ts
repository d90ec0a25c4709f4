import type { ApiKeyId, LiveFrame, RunId } from '#contracts';
import type { EventRepository, StoredEvent } from '#database';
import { durableFrame, endsRun, gapFrame, settledPlace } from './frames.ts';
import { LiveFeed, type LiveTaker } from './live-feed.ts';

export interface FeedReader extends LiveTaker {
  readonly apiKeyId: ApiKeyId;
  /** The last `seq` it was sent. */
  after: number;
}

const PAGE_ROWS_MAX = 500;
const PAGE_ROWS_MIN = 8;

/**
 * The readers of one run. One read serves all of them: it starts at the lowest position, and each reader takes what it has not had. A
 * reader that is behind (blocked) holds nobody up: it is left out until it has drained, and then read for again from where it stands.
 */
export class RunFeed {
  readonly runId: RunId;
  readonly readers = new Set<FeedReader>();
  readonly live: LiveFeed;
  readonly #events: Pick<EventRepository, 'readAfter'>;
  readonly #onProblem: (error: unknown) => void;
  /** Rows of one read: as many as were taken of late, so that slow readers of large events do not make us read the same rows again. */
  #pageRows = PAGE_ROWS_MAX;
  /** The newest row that was read. */
  #newestSeq = 0;
  #pumping = false;
  #again = false;

  constructor(runId: RunId, events: Pick<EventRepository, 'readAfter'>, onProblem: (error: unknown) => void) {
    this.runId = runId;
    this.live = new LiveFeed(runId, this.readers);
    this.#events = events;
    this.#onProblem = onProblem;
  }

  /** Where the reader stands that is furthest behind, of those that can take more. */
  get lowestPosition(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const reader of this.readers) if (!reader.writer.isBlocked && !reader.writer.isClosed && reader.after < lowest) lowest = reader.after;
    return lowest;
  }

  /** Live frames as they were read; see `LiveFeed.take`. */
  takeLive(frames: LiveFrame[], isFirst: boolean): void {
    this.live.take(frames, isFirst, this.#newestSeq);
  }

  /** Brings every reader up to date. Calls during a pump lead to one more round. Never throws; a failed read is tried again by the poll. */
  async pump(): Promise<void> {
    this.#again = true;
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#deliverAll();
      }
    } catch (error) {
      this.#onProblem(error);
    } finally {
      this.#pumping = false;
    }
  }

  async #deliverAll(): Promise<void> {
    for (;;) {
      const from = this.lowestPosition;
      if (from === Number.POSITIVE_INFINITY) return;
      const page = await this.#events.readAfter(this.runId, from, this.#pageRows);
      const isLast = page.length < this.#pageRows;
      const taken = await this.#deliverPage(page, from);
      this.#pageRows = Math.min(PAGE_ROWS_MAX, Math.max(PAGE_ROWS_MIN, taken * 2));
      if (isLast) return;
    }
  }

  /**
   * A page holds everything after `from`: it is for those who have all up to there. Who came meanwhile is served by the next read. Returns
   * how many rows somebody could take; an end that was reached counts as a full page. The end of the run lets its last words go first.
   */
  async #deliverPage(page: StoredEvent[], from: number): Promise<number> {
    const takers = new Set([...this.readers].filter((reader) => reader.after >= from));
    for (const [index, event] of page.entries()) {
      for (const reader of takers) if (reader.writer.isBlocked) takers.delete(reader);
      if (takers.size === 0) return index;
      const last = endsRun(event);
      if (last) await this.live.quiet();
      const frame = Buffer.from(durableFrame(this.runId, event));
      for (const reader of takers) if (reader.after < event.seq) this.#send(reader, event, frame, last);
      if (event.seq > this.#newestSeq) this.#noteNewest(event);
    }
    return PAGE_ROWS_MAX;
  }

  #noteNewest(event: StoredEvent): void {
    this.#newestSeq = event.seq;
    const place = settledPlace(event);
    if (place) this.live.settled(place);
  }

  #send(reader: FeedReader, event: StoredEvent, frame: Buffer, last: boolean): void {
    if (event.seq > reader.after + 1) reader.writer.write(gapFrame(this.runId, reader.after, event.seq, event.at));
    reader.after = event.seq;
    reader.writer.write(frame);
    if (last) reader.writer.end();
  }
}
