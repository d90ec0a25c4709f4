import { isObject, refuseSession, type SessionEvent } from './session-types.ts';

/** What stands in a conversation while an artifact is read: every event that was appended and not replaced since. */
export class SessionSurface {
  readonly #seqs: number[] = [];

  /** Throws `SESSION_INVALID` for a replacement of what does not stand there, or that does not name all it replaces. */
  push({ type, seq, surfaceOp, sourceEventSeqs = [] }: SessionEvent): void {
    if (surfaceOp === undefined) return;
    if (surfaceOp === 'append') return void this.#seqs.push(seq);
    const replaced = this.#span(surfaceOp.start, surfaceOp.end);
    if (replaced.length === 0) refuseSession(seq + 2, `(${type}) replaces events that do not stand on the surface in that order`);
    const named = new Set(sourceEventSeqs);
    if (replaced.some((one) => !named.has(one))) refuseSession(seq + 2, `(${type}) replaces an event that its sourceEventSeqs do not name`);
    this.#seqs.splice(this.#seqs.indexOf(surfaceOp.start), replaced.length, seq);
  }

  /** Throws `SESSION_INVALID` unless the event shadows a whole piece of what stands there. */
  requireShadowed({ type, seq, data }: SessionEvent): void {
    const { shadowedRange: range, shadowedSeqs } = data;
    const span = isObject(range) ? this.#span(range['start'] as number, range['end'] as number) : [];
    const isExact = Array.isArray(shadowedSeqs) && span.length > 0 && span.length === shadowedSeqs.length && span.every((one, index) => one === shadowedSeqs[index]);
    if (!isExact) refuseSession(seq + 2, `(${type}) shadows events that are no whole piece of the surface`);
  }

  #span(start: number, end: number): number[] {
    const [first, last] = [this.#seqs.indexOf(start), this.#seqs.indexOf(end)];
    return first < 0 || last < first ? [] : this.#seqs.slice(first, last + 1);
  }
}
