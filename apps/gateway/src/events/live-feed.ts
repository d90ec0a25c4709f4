import type { AttemptPlace, LiveFrame, RunId } from '#contracts';
import { comparePlaces, LiveBaseline } from '#domain';
import { attemptFrame, liveTextFrame } from './frames.ts';
import type { SseWriter } from './sse-writer.ts';

/** Who gets live text: a reader that is behind misses it, and is given the whole once it has caught up. */
export interface LiveTaker {
  readonly writer: SseWriter;
  /** It was sent everything of the present attempt. */
  isLive: boolean;
}

/** An end follows its settlement within moments, unless whoever wrote it died between the two or could not reach Redis. */
const END_FOLLOWS_WITHIN_MS = 500;

/** The live text of one run and the readers it goes to. */
export class LiveFeed {
  readonly #runId: RunId;
  readonly #takers: ReadonlySet<LiveTaker>;
  readonly #baseline = new LiveBaseline();
  #endTimer: NodeJS.Timeout | undefined;
  /** Told when no attempt is under way any more. */
  #onQuiet: () => void = () => undefined;

  constructor(runId: RunId, takers: ReadonlySet<LiveTaker>) {
    this.#runId = runId;
    this.#takers = takers;
  }

  /** Frames as they were read. After a start of reading they are a retelling: their sum goes out, not each of them. */
  take(frames: LiveFrame[], isFirst: boolean, newestSeq: number): void {
    if (isFirst) this.#retake(frames, newestSeq);
    else for (const frame of frames) this.#takeOne(frame, newestSeq);
    if (!this.#baseline.active) this.#onQuiet();
  }

  /** Resolves at once when no attempt is under way, otherwise with its end, for which nobody waits longer than `END_FOLLOWS_WITHIN_MS`. */
  async quiet(): Promise<void> {
    if (!this.#baseline.active) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, END_FOLLOWS_WITHIN_MS);
      this.#onQuiet = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** A reader that has just come, or has read what waited for it. */
  catchUp(taker: LiveTaker): void {
    const { active } = this.#baseline;
    if (taker.isLive || taker.writer.isBlocked) return;
    taker.isLive = true;
    if (active) taker.writer.write(attemptFrame(this.#runId, active));
  }

  /** The settlement of an attempt was delivered. */
  settled(place: AttemptPlace): void {
    const { active } = this.#baseline;
    if (!active || comparePlaces(active, place) !== 0) return;
    clearTimeout(this.#endTimer);
    this.#endTimer = setTimeout(() => this.#endMissing(place), END_FOLLOWS_WITHIN_MS);
    this.#endTimer.unref();
  }

  close(): void {
    clearTimeout(this.#endTimer);
    this.#onQuiet();
  }

  #takeOne(frame: LiveFrame, newestSeq: number): void {
    const verdict = this.#baseline.accept(frame, newestSeq);
    if (verdict === 'replace') this.#sendWhole();
    else if (verdict === 'forward' && frame.type !== 'baseline') this.#forward(frame);
  }

  #endMissing(place: AttemptPlace): void {
    const { active } = this.#baseline;
    const end = this.#baseline.endFrame('committed');
    if (active && end && comparePlaces(active, place) === 0) this.take([end], false, active.startedAfterSeq);
  }

  #retake(frames: LiveFrame[], newestSeq: number): void {
    const before = this.#baseline.active;
    const end = this.#baseline.endFrame('committed');
    for (const frame of frames) this.#baseline.accept(frame, newestSeq);
    if (this.#baseline.active) this.#sendWhole();
    else if (before && end) this.#forward(end);
  }

  #sendWhole(): void {
    const { active } = this.#baseline;
    if (!active) return;
    const whole = Buffer.from(attemptFrame(this.#runId, active));
    for (const taker of this.#takers) {
      taker.isLive = !taker.writer.isBlocked;
      if (taker.isLive) taker.writer.write(whole);
    }
  }

  #forward(frame: Exclude<LiveFrame, { type: 'baseline' }>): void {
    const text = Buffer.from(liveTextFrame(this.#runId, frame));
    for (const taker of this.#takers) {
      if (taker.writer.isBlocked) taker.isLive = false;
      else if (taker.isLive) taker.writer.write(text);
    }
  }
}
