/**
 * Lets calls to one model endpoint begin. What it knows is shared by every process that calls with the same key: how many calls are open,
 * and until when the endpoint wants to be left alone.
 */
export interface ModelGate {
  /**
   * Waits until a call may begin, and returns what ends it. Throws `MODEL_RATE_LIMITED`, with `details.accepted` false, at once when the
   * endpoint's pause lasts longer than `waitMs`, and after `waitMs` when no place got free. An abort throws the signal's reason.
   */
  enter(key: string, waitMs: number, signal: AbortSignal): Promise<() => void>;
  /** No call begins for so many milliseconds. A shorter pause does not cut a longer one. */
  pause(key: string, pauseMs: number): Promise<void>;
}
