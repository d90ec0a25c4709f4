import { AttemptGroup } from './attempt-group.ts';
import { SeqTable } from './seq-table.ts';
import { SessionFrame } from './session-frame.ts';
import { remapReferences } from './session-references.ts';
import { isObject, refuseSession, type SessionEvent, type SessionHeader } from './session-types.ts';

/** What waits for its number: an event of the source, an attempt whose fate is open, or an event that the source had no row for. */
type Staged = { kind: 'event'; event: SessionEvent } | { kind: 'attempt'; group: AttemptGroup } | { kind: 'added'; event: Omit<SessionEvent, 'seq'> } | { kind: 'gone' };

/**
 * Turns the events of a version 1 session into those of version 2, in one pass and in bounded memory: chunks of an attempt become the
 * stream of its settlement, everything else keeps its order, and all is numbered anew. An attempt that a message cites exactly becomes that
 * message; any other becomes a log-only attempt in the place of its last chunk. Only one step is ever held back. Throws `SESSION_INVALID`
 * for whatever cannot be carried over without a guess. `emit` gets each event once, numbered densely from 0.
 */
export class SessionMigration {
  readonly #header: SessionHeader;
  readonly #emit: (event: SessionEvent) => void;
  readonly #frame = new SessionFrame();
  readonly #seqs = new SeqTable();
  /** Attempts of the open step that no message has claimed. */
  #groups: AttemptGroup[] = [];
  #staged: Staged[] = [];
  #places = new Map<AttemptGroup, number>();
  #written = 0;
  #read = 0;
  #previousTime: number | null = null;

  constructor(header: SessionHeader, emit: (event: SessionEvent) => void) {
    this.#header = header;
    this.#emit = emit;
  }

  /** Takes the next event of the source; they must come in order of `seq`. */
  push(event: SessionEvent): void {
    this.#checkDelivery(event);
    if (event.type === 'turn/start') this.#closeInterruptedTurn(event);
    this.#frame.push(event);
    this.#cutSeed(event);
    this.#read = event.seq + 1;
    this.#previousTime = event.time;
    switch (event.type) {
      case 'assistant/chunk':
        return this.#addChunk(event);
      case 'assistant/message':
        this.#stage({ kind: 'event', event: this.#claim(event) });
        break;
      default:
        this.#closeGroups(event);
        if (!this.#isTaggedMarker(event)) this.#stageGoal(event);
    }
    if (this.#groups.length === 0 || event.type === 'step/end' || event.type === 'turn/end') this.#release();
  }

  /** Writes what was held back. Returns the number of events written. */
  finish(): number {
    const { seedLength, createdAt } = this.#header;
    if (seedLength !== null && seedLength > this.#read) refuseSession(1, `names ${seedLength} inherited events, but the artifact has ${this.#read}`);
    if (seedLength === this.#read) this.#stage(endSeed(this.#previousTime ?? createdAt));
    this.#release();
    return this.#written;
  }

  #addChunk(event: SessionEvent): void {
    let group = this.#groups.findLast(({ isClosed }) => !isClosed);
    if (!group) this.#groups.push((group = new AttemptGroup(event)));
    this.#requireOneSide(group, event);
    group.push(event);
    const place = this.#places.get(group);
    if (place === this.#staged.length - 1) return;
    if (place !== undefined) this.#staged[place] = { kind: 'gone' };
    this.#places.set(group, this.#staged.length);
    this.#stage({ kind: 'attempt', group });
  }

  /** The message with the stream of the one attempt it cites. */
  #claim(event: SessionEvent): SessionEvent {
    const { sourceEventSeqs: cited, ...message } = event;
    if (cited === undefined && this.#groups.length > 0) refuseSession(event.seq + 2, 'is an answer that does not say which chunks it came from, although there are some');
    if (cited === undefined || cited.length === 0) return { ...message, data: { ...event.data, stream: [] } };
    const group = this.#groups.find((candidate) => candidate.isCitedBy(cited));
    if (!group) return refuseSession(event.seq + 2, 'cites chunks that are not one complete ordered attempt of its step');
    this.#requireOneSide(group, event);
    this.#groups = this.#groups.filter((candidate) => candidate !== group);
    const place = this.#places.get(group);
    if (place !== undefined) this.#staged[place] = { kind: 'gone' };
    this.#places.delete(group);
    return { ...message, data: { ...event.data, stream: group.stream() } };
  }

  #closeGroups({ type }: SessionEvent): void {
    if (type === 'step/end' || type === 'turn/end' || type === 'llm/retry' || type === 'llm/retry-started') for (const group of this.#groups) group.isClosed = true;
  }

  /** An older writer began the next turn without ending the one before. */
  #closeInterruptedTurn({ time }: SessionEvent): void {
    const { turn, step } = this.#frame;
    if (turn === null) return;
    if (step !== null) this.#end({ type: 'step/end', time, data: { turn, step } });
    this.#end({ type: 'turn/end', time, data: { turn, reason: { kind: 'interrupted' } } });
  }

  #end(event: Omit<SessionEvent, 'seq'>): void {
    this.#frame.push({ ...event, seq: this.#read });
    this.#stage({ kind: 'added', event });
    this.#release();
  }

  /** An older writer put the change of a goal into the message that announced it. */
  #stageGoal(event: SessionEvent): void {
    const { source } = event.data;
    const isGoal = event.type === 'user/message' && isObject(source) && source['kind'] === 'goal' && source['change'] !== undefined;
    if (!isGoal) return this.#stage({ kind: 'event', event });
    if (!isObject(source['change'])) return refuseSession(event.seq + 2, '(user/message) has a change of a goal that is not an object');
    this.#stage({ kind: 'added', event: { type: 'goal/change', time: event.time, data: source['change'] } });
    this.#stage({ kind: 'event', event: { ...event, data: { ...event.data, source: { kind: 'plugin', plugin: 'goal' } } } });
  }

  #cutSeed(event: SessionEvent): void {
    if (event.seq !== this.#header.seedLength) return;
    this.#stage(endSeed(event.time, event.type === 'session/end-seed' ? event.seq : undefined));
  }

  #isTaggedMarker({ type, seq }: SessionEvent): boolean {
    return type === 'session/end-seed' && seq === this.#header.seedLength;
  }

  /** An attempt is inherited whole or not at all. */
  #requireOneSide({ firstSeq }: AttemptGroup, { seq }: SessionEvent): void {
    const { seedLength } = this.#header;
    if (seedLength !== null && firstSeq < seedLength && seq >= seedLength) refuseSession(seq + 2, 'belongs to an attempt that the end of the inherited events cuts in two');
  }

  #checkDelivery({ type, seq, data }: SessionEvent): void {
    const isInherited = seq < (this.#header.seedLength ?? 0);
    if (type !== 'session-log-deepseek/delivery-accepted' || isInherited || data['sessionId'] === this.#header.id) return;
    refuseSession(seq + 2, 'marks a delivery of another session');
  }

  #stage(staged: Staged): void {
    this.#staged.push(staged);
  }

  #release(): void {
    for (const staged of this.#staged) this.#write(staged);
    this.#staged = [];
    this.#places.clear();
    this.#groups = [];
  }

  #write(staged: Staged): void {
    switch (staged.kind) {
      case 'gone':
        return;
      case 'attempt': {
        const { turn, step, lastTime } = staged.group;
        return this.#emit({ type: 'assistant/attempt', seq: this.#written++, time: lastTime, data: { turn, step, stream: staged.group.stream() } });
      }
      case 'added':
        return this.#emit({ ...staged.event, seq: this.#written++ });
      case 'event': {
        const { event } = staged;
        const remapped = remapReferences(event, (seq) => this.#seqs.get(seq), event.seq + 2);
        this.#seqs.set(event.seq, this.#written);
        return this.#emit({ ...remapped, seq: this.#written++ });
      }
    }
  }
}

/** The place where what was inherited ends; `seq` where the source had a row for it, which others may refer to. */
const endSeed = (time: number, seq?: number): Staged => {
  const event = { type: 'session/end-seed', time, data: { inherited: true } };
  return seq === undefined ? { kind: 'added', event } : { kind: 'event', event: { ...event, seq } };
};
