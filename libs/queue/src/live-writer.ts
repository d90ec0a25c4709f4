import type { AttemptPlace, LiveFrame, LiveNews, LivePart, RunId } from '#contracts';
import { appendPart, comparePlaces } from '#domain';
import type { ChainableCommander, Redis } from 'ioredis';
import { liveKey } from './names.ts';

/** Texts are gathered for so long: one packet for all runs of this process, however many tokens there were. */
const GATHER_MS = 1;
/** Frames that stay before a baseline, for readers that are a little behind. */
const FRAMES_BEFORE_BASELINE = 64;
/** A new baseline is due after so many frames, once they are as long as the one before: it is paid for by what it replaces. */
const BASELINE_FRAMES_MIN = 256;
const BASELINE_FRAMES_MAX = 4_096;
/** A bound for when baselines fail. */
const FRAMES_MAX = BASELINE_FRAMES_MAX * 2;
const TTL_SECONDS = 3_600;

/** The attempt a run is writing, as readers were told of it. */
interface Written extends AttemptPlace {
  parts: LivePart[];
  pending: LivePart[];
  index: number;
  framesSince: number;
  charsSince: number;
  charsBefore: number;
  /** Nobody knows what readers have: a baseline comes first. */
  isDirty: boolean;
}

/**
 * Writes live text of model calls to one bounded Redis stream per root run. Nothing depends on it: the settlement holds the whole text.
 * Frames that Redis did not take are made good by a baseline with the next text, and a stream that is gone by one at once.
 */
export class LiveWriter {
  readonly #redis: Redis;
  readonly #incarnation: string;
  readonly #runs = new Map<RunId, Written>();
  readonly #touched = new Set<RunId>();
  #timer: NodeJS.Timeout | undefined;
  #revision = 0;

  constructor(redis: Redis, incarnation: string) {
    this.#redis = redis;
    this.#incarnation = incarnation;
  }

  tell(rootRunId: RunId, news: LiveNews): void {
    if (news.type === 'end') return this.#end(rootRunId, news);
    const run = this.#runs.get(rootRunId);
    const order = run ? comparePlaces(news, run) : 1;
    // a call of a lease that was lost and won again may still talk
    if (order < 0) return;
    const written = run && order === 0 ? run : begin(news);
    this.#runs.set(rootRunId, written);
    appendPart(written.pending, news);
    this.#schedule(rootRunId);
  }

  close(): void {
    this.#flush();
  }

  #end(rootRunId: RunId, news: LiveNews & { type: 'end' }): void {
    const written = this.#runs.get(rootRunId);
    if (!written || comparePlaces(written, news) !== 0) return;
    this.#flush();
    this.#runs.delete(rootRunId);
    const { turn, attempt, index } = written;
    const pipeline = this.#redis.pipeline();
    this.#add(pipeline, rootRunId, { type: 'end', turn, attempt, revision: ++this.#revision, index, outcome: news.outcome });
    pipeline.exec().catch(() => undefined);
  }

  #schedule(rootRunId: RunId): void {
    this.#touched.add(rootRunId);
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#touched.size === 0) return;
    const pipeline = this.#redis.pipeline();
    const sent: { rootRunId: RunId; written: Written; commandsEnd: number }[] = [];
    for (const rootRunId of this.#touched) {
      const written = this.#runs.get(rootRunId);
      if (!written) continue;
      this.#write(pipeline, rootRunId, written);
      sent.push({ rootRunId, written, commandsEnd: pipeline.length });
    }
    this.#touched.clear();
    const failed = (): void => sent.forEach(({ written }) => (written.isDirty = true));
    pipeline.exec().then((replies) => {
      if (!replies || replies.some(([error]) => error !== null)) return failed();
      let position = 0;
      for (const { rootRunId, written, commandsEnd } of sent) {
        const isGone = replies.slice(position, commandsEnd).some(([, reply]) => reply === null);
        position = commandsEnd;
        if (isGone) this.#beginAgain(rootRunId, written);
      }
    }, failed);
  }

  /** The stream was emptied behind our back: whoever joins now would wait for a beginning. */
  #beginAgain(rootRunId: RunId, written: Written): void {
    written.isDirty = true;
    if (this.#runs.get(rootRunId) === written) this.#schedule(rootRunId);
  }

  #write(pipeline: ChainableCommander, rootRunId: RunId, written: Written): void {
    if (written.isDirty || isBaselineDue(written)) this.#writeBaseline(pipeline, rootRunId, written);
    const { turn, attempt } = written;
    for (const part of written.pending) {
      this.#add(pipeline, rootRunId, { ...part, turn, attempt, revision: ++this.#revision, index: written.index++ });
      appendPart(written.parts, part);
      written.framesSince++;
      written.charsSince += part.content.length;
    }
    written.pending = [];
  }

  #writeBaseline(pipeline: ChainableCommander, rootRunId: RunId, written: Written): void {
    const { turn, attempt, index, parts } = written;
    const frame: LiveFrame = { type: 'baseline', turn, attempt, revision: ++this.#revision, index, parts };
    pipeline.xadd(liveKey(this.#incarnation, rootRunId), 'MAXLEN', FRAMES_BEFORE_BASELINE, '*', 'f', JSON.stringify(frame));
    pipeline.expire(liveKey(this.#incarnation, rootRunId), TTL_SECONDS);
    written.charsBefore += written.charsSince;
    written.charsSince = 0;
    written.framesSince = 0;
    written.isDirty = false;
  }

  /** Only a baseline may begin a stream. */
  #add(pipeline: ChainableCommander, rootRunId: RunId, frame: LiveFrame): void {
    pipeline.xadd(liveKey(this.#incarnation, rootRunId), 'NOMKSTREAM', 'MAXLEN', FRAMES_MAX, '*', 'f', JSON.stringify(frame));
  }
}

const begin = ({ turn, attempt }: AttemptPlace): Written => ({ turn, attempt, parts: [], pending: [], index: 0, framesSince: 0, charsSince: 0, charsBefore: 0, isDirty: true });

const isBaselineDue = ({ framesSince, charsSince, charsBefore }: Written): boolean =>
  framesSince >= BASELINE_FRAMES_MAX || (framesSince >= BASELINE_FRAMES_MIN && charsSince >= charsBefore);
