import type { DurableEventBody, ErrorCode } from '#contracts';
import type { AttemptReport } from './attempt.ts';
import type { RunState } from './run-state.ts';

/** Counts a model call that is over. */
export function observeAttempt({ deps, claimed }: RunState, { settlement, usage, error, startedAtMs }: AttemptReport): void {
  const wasTaken = error?.details['accepted'] !== false;
  deps.observer.attemptSettled({
    role: claimed.loaded.run.role,
    outcome: settlement.outcome,
    inputTokens: wasTaken ? usage.inputTokens : 0,
    outputTokens: wasTaken ? usage.outputTokens : 0,
    durationMs: deps.nowMs() - startedAtMs,
  });
}

/** What followers of the run are told of a settled model call. */
export function settlementEvent(state: RunState, turn: number, attempt: number, { settlement, usage }: AttemptReport, fallbackReason: ErrorCode | null): DurableEventBody {
  const { role, workerNumber } = state.claimed.loaded.run;
  return {
    type: 'settlement',
    role,
    ...(workerNumber === null ? {} : { worker: workerNumber }),
    turn,
    attempt,
    outcome: settlement.outcome,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    ...(fallbackReason === null ? {} : { fallback_reason: fallbackReason }),
  };
}
