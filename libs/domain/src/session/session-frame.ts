import { refuseSession, type SessionEvent } from './session-types.ts';

/** Which turn and step are open while an artifact is read from front to back. */
export class SessionFrame {
  turn: number | null = null;
  step: number | null = null;

  /** Takes the next event. Throws `SESSION_INVALID` for a turn or step that begins or ends where it cannot. */
  push({ type, seq, data }: Pick<SessionEvent, 'type' | 'seq' | 'data'>): void {
    const [turn, step] = [data['turn'] as number, data['step'] as number];
    switch (type) {
      case 'turn/start':
        if (this.turn !== null) refuseSession(seq + 2, `starts turn ${turn} while turn ${this.turn} is open`);
        this.turn = turn;
        return;
      case 'turn/end':
        if (this.turn !== turn) refuseSession(seq + 2, `ends turn ${turn}, which is not open`);
        // a turn that was broken off takes its step with it
        this.step = null;
        this.turn = null;
        return;
      case 'step/start':
        if (this.turn !== turn || this.step !== null) refuseSession(seq + 2, `starts step ${step} of turn ${turn} outside that turn, or in an open step`);
        this.step = step;
        return;
      case 'step/end':
        this.requireOpen(turn, step, seq, type);
        this.step = null;
        return;
      case 'assistant/chunk':
      case 'assistant/message':
      case 'assistant/attempt':
      case 'llm/retry':
        return this.requireOpen(turn, step, seq, type);
      default:
    }
  }

  private requireOpen(turn: number, step: number, seq: number, type: string): void {
    if (this.turn !== turn || this.step !== step) refuseSession(seq + 2, `(${type}) belongs to step ${step} of turn ${turn}, which is not open`);
  }
}
