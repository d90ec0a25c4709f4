import type { SessionSurface } from './session-surface.ts';
import { isObject, refuseSession, type SessionData, type SessionEvent } from './session-types.ts';

interface Compaction {
  id: unknown;
  sourceCommandId: unknown;
  turn: unknown;
  isSummarized: boolean;
  /** Row that went beyond its turn while it was open: only one that was inherited unfinished may. */
  crossedAt: number | null;
}

/** The compactions of a conversation while an artifact is read: one at a time, within its turn, with one summary of what stands on the surface. */
export class SessionCompactions {
  readonly #surface: SessionSurface;
  #open: Compaction | null = null;

  constructor(surface: SessionSurface) {
    this.#surface = surface;
  }

  /** Takes the next event; `turn` is the one that is open. Throws `SESSION_INVALID`. */
  push(event: SessionEvent, turn: number | null): void {
    const { type, seq, data } = event;
    switch (type) {
      case 'compaction/start':
        if (this.#open) refuseSession(seq + 2, '(compaction/start) begins before the compaction before it has ended');
        if (data['turn'] !== turn) refuseSession(seq + 2, '(compaction/start) belongs to a turn that is not the open one');
        this.#open = { id: data['compactionId'], sourceCommandId: data['sourceCommandId'], turn: data['turn'], isSummarized: false, crossedAt: null };
        return;
      case 'compaction/summary': {
        const open = this.#requireOpen(data, type, seq);
        if (open.isSummarized) refuseSession(seq + 2, '(compaction/summary) is the second one of its compaction');
        open.isSummarized = true;
        return this.#surface.requireShadowed(event);
      }
      case 'compaction/end': {
        const open = this.#requireOpen(data, type, seq);
        if (data['turn'] !== open.turn) refuseSession(seq + 2, '(compaction/end) names another turn than its start');
        if (data['error'] === undefined && !open.isSummarized) refuseSession(seq + 2, '(compaction/end) ends a compaction that has neither a summary nor an error');
        this.#open = null;
        return;
      }
      case 'compaction/prune':
        return this.#surface.requireShadowed(event);
      case 'user/message':
        if (event.surfaceOp !== 'append' && isObject(data['source']) && data['source']['plugin'] === 'compact') this.#requireOpen(data['source'], type, seq);
        return;
      case 'turn/start':
      case 'turn/end':
        if (this.#open) this.#open.crossedAt ??= seq + 2;
        return;
      case 'session/end-seed':
        // what was inherited unfinished stays so: it was another session's
        this.#open = null;
        return;
      default:
    }
  }

  finish(): void {
    if (this.#open) this.#requireUncrossed(this.#open);
  }

  #requireOpen({ compactionId, sourceCommandId }: SessionData, type: string, seq: number): Compaction {
    const open = this.#open;
    if (open?.id !== compactionId || open?.sourceCommandId !== sourceCommandId || !open) return refuseSession(seq + 2, `(${type}) belongs to a compaction that is not open`);
    this.#requireUncrossed(open);
    return open;
  }

  #requireUncrossed({ crossedAt }: Compaction): void {
    if (crossedAt !== null) refuseSession(crossedAt, 'begins or ends a turn in the middle of a compaction');
  }
}
