import type { ModelChunk, StreamRecord } from '#contracts';
import { AssistantStreamAccumulator } from '../stream/accumulate.ts';
import { refuseSession, type SessionEvent } from './session-types.ts';

/** The chunks of one model attempt, as they come by among other events; kept compact from the first one on. */
export class AttemptGroup {
  readonly turn: number;
  readonly step: number;
  readonly firstSeq: number;
  readonly #seqs: number[] = [];
  readonly #accumulator = new AssistantStreamAccumulator();
  lastTime = 0;
  /** A finish, a retry or the end of its step came by: the next chunk begins another attempt. */
  isClosed = false;

  constructor({ seq, data }: SessionEvent) {
    this.turn = data['turn'] as number;
    this.step = data['step'] as number;
    this.firstSeq = seq;
  }

  push({ seq, time, data }: SessionEvent): void {
    const chunk = data['chunk'] as ModelChunk;
    try {
      this.#accumulator.push(time, chunk);
    } catch (error) {
      refuseSession(seq + 2, `has a chunk that cannot be kept: ${error instanceof TypeError ? error.message : 'its type is unknown'}`);
    }
    this.#seqs.push(seq);
    this.lastTime = time;
    if (chunk.type === 'finish') this.isClosed = true;
  }

  /** True when the list is exactly these chunks, all of them, in their order. */
  isCitedBy(seqs: readonly number[]): boolean {
    return seqs.length === this.#seqs.length && seqs.every((seq, position) => seq === this.#seqs[position]);
  }

  stream(): readonly StreamRecord[] {
    return this.#accumulator.snapshot();
  }
}
