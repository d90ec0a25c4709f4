import { connect, type Socket } from 'node:net';
import type { ReplyCut, Silence, Toxics } from './toxics.ts';

/** What a connection asks of its proxy with every piece of bytes. */
export interface ConnectionRules {
  readonly toxics: Toxics;
  readonly silence: Silence;
  /** Takes the cut that this request meets, if any; `spared` when one is meant for a later request of its kind. */
  takeCut(request: string): ReplyCut | 'spared' | null;
  landed(fault: string, evidence: string): void;
}

type Direction = 'request' | 'reply';

/** Enough of the same request's earlier piece to find words that two pieces share. */
const TAIL_CHARS = 64;

/** One client's connection and the one behind it, with everything that may go wrong between them. */
export class ProxiedConnection {
  readonly near: Socket;
  readonly far: Socket;
  readonly closed: Promise<void>;
  readonly #rules: ConnectionRules;
  /** Faults of this connection that have their receipt. */
  readonly #noted = new Set<string>();
  readonly #queues: Record<Direction, Promise<void>> = { request: Promise.resolve(), reply: Promise.resolve() };
  #tail = '';
  #replyBytes = 0;
  #isDead = false;
  #cut: ReplyCut | null = null;

  constructor(near: Socket, target: { host: string; port: number }, rules: ConnectionRules) {
    this.near = near;
    this.#rules = rules;
    this.far = connect(target.port, target.host);
    for (const socket of [this.near, this.far]) socket.setNoDelay(true);
    this.#pass('request', this.near, this.far);
    this.#pass('reply', this.far, this.near);
    this.closed = new Promise((resolve) => this.near.once('close', () => resolve()));
    this.applySilence();
  }

  /** Ends both sides at once: with RST, or as a process that goes away does. */
  end(how: 'reset' | 'close'): void {
    for (const socket of [this.near, this.far]) {
      if (how === 'reset') socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  /** Bytes that are held stay in the sockets, as behind a switch that is down. */
  applySilence(): void {
    for (const socket of [this.near, this.far]) {
      if (this.#rules.silence === 'hold') socket.pause();
      else socket.resume();
    }
  }

  #pass(direction: Direction, from: Socket, to: Socket): void {
    from.on('data', (data) => this.#meet(direction, data, to));
    from.on('error', () => to.destroy());
    from.on('close', () => this.#followClose(direction, to));
  }

  #followClose(direction: Direction, to: Socket): void {
    const { closeDelayMs } = this.#rules.toxics;
    const follow = (): void => void this.#queues[direction].finally(() => to.destroy());
    if (closeDelayMs === 0 || to.destroyed) return follow();
    this.#note('slow-close', `${direction} side, ${closeDelayMs} ms`);
    setTimeout(follow, closeDelayMs);
  }

  #meet(direction: Direction, data: Buffer, to: Socket): void {
    if (this.#isDead || this.#rules.silence === 'swallow') {
      this.#isDead = true;
      return this.#note('swallow', `${data.length} bytes of a ${direction}`);
    }
    if (direction === 'request') this.#meetRequest(data);
    else if (this.#cut !== null) return this.#cutReply(this.#cut, data);
    else this.#tail = '';
    const allowed = direction === 'reply' ? this.#limit(data) : data;
    this.#send(direction, allowed, to);
    if (allowed.length < data.length) {
      this.#note('byte-limit', `cut after ${this.#replyBytes} bytes`);
      void this.#queues[direction].then(() => this.end('close'));
    }
  }

  #meetRequest(data: Buffer): void {
    const request = this.#tail + data.toString('latin1');
    const met = this.#cut ?? this.#rules.takeCut(request);
    this.#tail = met === null ? request.slice(-TAIL_CHARS) : '';
    if (met !== 'spared') this.#cut = met;
  }

  #cutReply(cut: ReplyCut, reply: Buffer): void {
    if (!cut.isWholeReply(reply)) return;
    this.#rules.landed('cut-reply', `"${cut.request}" was answered with ${reply.length} bytes`);
    this.end('reset');
  }

  #limit(data: Buffer): Buffer {
    const { replyBytesMax } = this.#rules.toxics;
    const allowed = replyBytesMax === null ? data : data.subarray(0, Math.max(0, replyBytesMax - this.#replyBytes));
    this.#replyBytes += allowed.length;
    return allowed;
  }

  #send(direction: Direction, data: Buffer, to: Socket): void {
    const { latencyMs, jitterMs, sliceBytes } = this.#rules.toxics;
    if (sliceBytes > 0) this.#note('slice', `pieces of ${sliceBytes} bytes`);
    if (latencyMs + jitterMs > 0) this.#note('latency', `${latencyMs} ms and up to ${jitterMs} more`);
    const pieces = sliceBytes === 0 ? [data] : Array.from({ length: Math.ceil(data.length / sliceBytes) }, (_, index) => data.subarray(index * sliceBytes, (index + 1) * sliceBytes));
    const dueMs = performance.now() + latencyMs + Math.random() * jitterMs;
    this.#queues[direction] = this.#queues[direction].then(() => this.#deliver(pieces, to, dueMs));
  }

  async #deliver(pieces: Buffer[], to: Socket, dueMs: number): Promise<void> {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    for (const piece of pieces) {
      if (to.destroyed) return;
      // with more than one piece, each is on its way before the next is written
      await new Promise<void>((resolve) => (pieces.length === 1 ? (to.write(piece), resolve()) : void to.write(piece, () => resolve())));
    }
  }

  #note(fault: string, evidence: string): void {
    if (this.#noted.has(fault)) return;
    this.#noted.add(fault);
    this.#rules.landed(fault, evidence);
  }
}
