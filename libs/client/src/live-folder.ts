import { isTerminal, type AttemptPlace, type EventEnvelope } from '#contracts';
import { comparePlaces } from '#domain';

type Of<Type extends EventEnvelope['type']> = Extract<EventEnvelope, { type: Type }>;
type Numbered = EventEnvelope & { seq: number };
type LiveText = Of<'content'> | Of<'reasoning'>;

interface ActiveAttempt extends AttemptPlace {
  startedAfterSeq: number;
  nextIndex: number;
  /** Whether text may have been missed: only the very next text, or a whole, may go on from here. */
  isStale: boolean;
  /** Its last text has come, its settlement has not: what was shown stays until then. */
  end: Of<'attempt_end'> | null;
}

/** Events that wait for the end of an attempt; a sender that never says it must not cost memory. */
const STAGED_MAX = 256;

/**
 * Turns what arrives over any number of connections into what one unbroken connection shows: durable events once and in order, live text
 * without a hole and without doubles. The settlement of the attempt under way, and what follows it, waits for the last of its text. Where
 * text was missed, `attempt` brings the whole anew; a settlement takes away what was shown, or an `attempt_end` when none was written. Pure: no
 * clock, no I/O.
 */
export class LiveFolder {
  #after: number;
  #active: ActiveAttempt | null = null;
  /** The newest attempt that is over: a whole of it that was sent before tells nothing any more. */
  #over: AttemptPlace = { turn: 0, attempt: 0 };
  #staged: Numbered[] = [];
  #needsWhole = false;

  /** `after`: the last `seq` that was seen. */
  constructor(after: number) {
    this.#after = after;
  }

  /** The last `seq` that has arrived: where the next connection goes on. */
  get after(): number {
    return this.#after;
  }

  /** True once a hole was found that only a new connection can fill. */
  get needsWhole(): boolean {
    return this.#needsWhole;
  }

  /** A connection was made or lost: nothing more comes from the one before. */
  reconnected(): EventEnvelope[] {
    this.#needsWhole = false;
    if (this.#active) this.#active.isStale = true;
    return this.#release();
  }

  /** What the reader is shown for this event, in order. */
  accept(event: EventEnvelope): EventEnvelope[] {
    switch (event.type) {
      case 'attempt':
        return this.#acceptWhole(event);
      case 'content':
      case 'reasoning':
        return this.#acceptText(event);
      case 'attempt_end':
        return this.#acceptEnd(event);
      case 'gap':
        this.#after = event.next - 1;
        return [...this.#release(), ...this.#endUnsettled(), event];
      default:
        return isNumbered(event) ? this.#acceptDurable(event) : [...this.#release(), event];
    }
  }

  #acceptDurable(event: Numbered): EventEnvelope[] {
    if (event.seq <= this.#after) return [];
    const hole: EventEnvelope[] =
      event.seq > this.#after + 1 ? [...this.#endUnsettled(), { type: 'gap', run_id: event.run_id, at: event.at, after: this.#after, next: event.seq }] : [];
    this.#after = event.seq;
    if (this.#staged.length > 0 || this.#mustWait(event)) {
      const before = hole.length > 0 ? [...this.#release(), ...hole] : [];
      this.#staged.push(event);
      return isEnd(event) || this.#staged.length >= STAGED_MAX ? [...before, ...this.#release()] : before;
    }
    return [...hole, ...this.#publish(event)];
  }

  /** Only the settlement of the attempt whose text is still coming; a lost one has no more to come. */
  #mustWait(event: Numbered): boolean {
    const active = this.#active;
    if (!active || active.isStale || active.end || event.type !== 'settlement' || event.outcome === 'lost') return false;
    return event.role === 'supervisor' && comparePlaces(event, active) === 0 && event.seq > active.startedAfterSeq;
  }

  #acceptWhole(event: Of<'attempt'>): EventEnvelope[] {
    const active = this.#active;
    const order = active ? comparePlaces(event, active) : 1;
    if (order < 0 || comparePlaces(event, this.#over) <= 0) return [];
    const isKnown = active !== null && order === 0 && event.index === active.nextIndex;
    const released = this.#release();
    if (comparePlaces(event, this.#over) <= 0) return released;
    this.#active = { turn: event.turn, attempt: event.attempt, startedAfterSeq: event.started_after_seq, nextIndex: event.index, isStale: false, end: null };
    return isKnown ? released : [...released, event];
  }

  #acceptText(event: LiveText): EventEnvelope[] {
    const active = this.#active;
    if (!active || comparePlaces(event, active) !== 0 || event.index < active.nextIndex) return [];
    if (event.index > active.nextIndex) return this.#miss();
    active.nextIndex++;
    active.isStale = false;
    return [event];
  }

  #acceptEnd(event: Of<'attempt_end'>): EventEnvelope[] {
    if (!this.#active || comparePlaces(event, this.#active) !== 0) return [];
    const settled = this.#release();
    // the settlement took the text away in one step; one that is still to come finds nothing to take
    if (this.#active === null) return settled;
    this.#active.end = event;
    return event.outcome === 'committed' ? settled : [...this.#endUnsettled(), ...settled];
  }

  /** Takes away text whose end has come and whose settlement will not. */
  #endUnsettled(): EventEnvelope[] {
    const end = this.#active?.end;
    if (!end) return [];
    this.#endActive(end);
    return [end];
  }

  /** Text is missing. What was shown stays until the whole comes. */
  #miss(): EventEnvelope[] {
    this.#needsWhole = true;
    if (this.#active) this.#active.isStale = true;
    return this.#release();
  }

  #endActive(place: AttemptPlace): void {
    if (this.#active && comparePlaces(place, this.#active) === 0) this.#active = null;
    if (comparePlaces(place, this.#over) > 0) this.#over = { turn: place.turn, attempt: place.attempt };
  }

  #release(): EventEnvelope[] {
    return this.#staged.splice(0).flatMap((event) => this.#publish(event));
  }

  #publish(event: Numbered): EventEnvelope[] {
    if (isEnd(event)) this.#active = null;
    else if (event.type === 'settlement' && event.role === 'supervisor') this.#endActive(event);
    return [event];
  }
}

const isNumbered = (event: EventEnvelope): event is Numbered => event.seq !== undefined;

const isEnd = (event: EventEnvelope): boolean => event.type === 'run_status' && isTerminal(event.status);
