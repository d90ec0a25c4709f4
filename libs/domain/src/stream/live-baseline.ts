import type { AttemptPlace, LiveFrame, LiveOutcome, LivePart } from '#contracts';

/** The attempt whose text is coming in: everything a reader needs who joins now. */
export interface LiveAttempt extends AttemptPlace {
  revision: number;
  /** The newest durable event that was known when it began. */
  startedAfterSeq: number;
  /** Texts so far; the next one has this index. */
  nextIndex: number;
  parts: LivePart[];
}

/** `forward` the frame, `replace` what readers have by the baseline, or `ignore` it: it tells nothing new. */
export type LiveVerdict = 'forward' | 'replace' | 'ignore';

/** Less than 0 when `left` came before `right`. */
export const comparePlaces = (left: AttemptPlace, right: AttemptPlace): number => left.turn - right.turn || left.attempt - right.attempt;

/** Adds a text to the parts of its attempt, in place. */
export function appendPart(parts: LivePart[], { type, content }: LivePart): void {
  const last = parts.at(-1);
  if (last?.type === type) last.content += content;
  else parts.push({ type, content });
}

/**
 * Folds the live frames of one run to what a reader must be given first. Frames of an attempt that is unknown, over or older than the present
 * one (a process that lost its lease talks on) are ignored; a hole drops the attempt until its next baseline.
 */
export class LiveBaseline {
  #active: LiveAttempt | null = null;
  /** The newest attempt that ended; it never begins again. */
  #ended: AttemptPlace = { turn: 0, attempt: 0 };

  get active(): LiveAttempt | null {
    return this.#active;
  }

  /** `newestSeq`: the newest durable event known. */
  accept(frame: LiveFrame, newestSeq: number): LiveVerdict {
    const active = this.#active;
    const isActive = active !== null && comparePlaces(frame, active) === 0;
    if (frame.type === 'baseline') return this.#rebase(frame, newestSeq);
    if (!isActive) return 'ignore';
    if (frame.type === 'end') {
      this.#active = null;
      this.#ended = { turn: frame.turn, attempt: frame.attempt };
      return 'forward';
    }
    // a text that came before its baseline was written is in it
    if (frame.index < active.nextIndex) return 'ignore';
    if (frame.index > active.nextIndex) {
      this.#active = null;
      return 'ignore';
    }
    appendPart(active.parts, frame);
    active.nextIndex++;
    active.revision = frame.revision;
    return 'forward';
  }

  /** The end of the active attempt, for when nobody will send it any more. */
  endFrame(outcome: LiveOutcome): Extract<LiveFrame, { type: 'end' }> | null {
    if (!this.#active) return null;
    const { turn, attempt, revision, nextIndex } = this.#active;
    return { type: 'end', turn, attempt, revision: revision + 1, index: nextIndex, outcome };
  }

  #rebase(frame: Extract<LiveFrame, { type: 'baseline' }>, newestSeq: number): LiveVerdict {
    const active = this.#active;
    if (comparePlaces(frame, this.#ended) <= 0 || (active && comparePlaces(frame, active) < 0)) return 'ignore';
    const isSame = active !== null && comparePlaces(frame, active) === 0;
    if (isSame && frame.index <= active.nextIndex) return 'ignore';
    const { turn, attempt, revision, index, parts } = frame;
    this.#active = { turn, attempt, revision, startedAfterSeq: isSame ? active.startedAfterSeq : newestSeq, nextIndex: index, parts: parts.map((part) => ({ ...part })) };
    return 'replace';
  }
}
