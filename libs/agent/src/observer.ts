import type { ActivityWord, AssistantRole, AttemptOutcome, StopReason } from '#contracts';

/** A model call that came to its end in this process, whatever became of it. */
export interface AttemptFact {
  role: AssistantRole;
  outcome: AttemptOutcome;
  /** As reported, else as estimated; both zero when the provider surely took nothing. */
  inputTokens: number;
  outputTokens: number;
  durationMs: number;
}

/** A tool call that was executed here; delegations are runs of their own. */
export interface ToolFact {
  activity: ActivityWord;
  outcome: 'ok' | 'error';
  durationMs: number;
}

/** A run whose end was committed here. */
export interface RunFact {
  role: AssistantRole;
  stopReason: StopReason;
}

/** Is told plain facts for an operator's figures. Called on the loop's path: must return at once and never throw. */
export interface AgentObserver {
  attemptSettled(fact: AttemptFact): void;
  toolSettled(fact: ToolFact): void;
  runEnded(fact: RunFact): void;
}
