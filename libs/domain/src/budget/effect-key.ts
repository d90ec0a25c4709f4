import type { RunId } from '#contracts';

/** Turn and attempt of a model call, as its attempt row will have them. */
export interface AttemptPosition {
  turn: number;
  attempt: number;
}

/** Effect keys name what a reservation pays for. They are unique, so that one effect is reserved once, whoever asks again. */
export const modelEffect = (runId: RunId, { turn, attempt }: AttemptPosition): string => `model:${runId}:${turn}:${attempt}`;

/** The finishing allowance of a root run while nothing has been done with it. */
export const finishEffect = (runId: RunId): string => `finish:${runId}`;

/** The same from the moment its call begins: its outcome is owed then, as that of any model call. */
export const begunFinishEffect = (runId: RunId, { turn, attempt }: AttemptPosition): string => `finish:${runId}:${turn}:${attempt}`;

/** The model call that a reservation pays for. Null for a search or read, and for an allowance whose call has not begun. */
export function attemptPosition(effectKey: string): AttemptPosition | null {
  const [kind, , turn, attempt] = effectKey.split(':');
  if ((kind !== 'model' && kind !== 'finish') || turn === undefined || attempt === undefined) return null;
  return { turn: Number(turn), attempt: Number(attempt) };
}
