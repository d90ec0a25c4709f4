import { ActivityWord, AssistantRole, AttemptOutcome, StopReason } from '#contracts';
import type { AgentExit, AgentObserver } from '#agent';
import { counter, gauge, histogram } from '#platform';

/** How this process let go of a run: as the loop says, or because its lease or a store was lost, or because of a defect. */
export type RunExit = AgentExit | 'lost' | 'failed';
const EXITS = ['ended', 'parked', 'released', 'lost', 'failed'] as const satisfies RunExit[];

const role = AssistantRole.options;
const activity = ActivityWord.options;

const held = gauge('runs_held', 'Runs that this process works on now.', {});
const exits = counter('run_exits_total', 'Runs this process let go of, by how.', { role, exit: EXITS });
const lost = counter('leases_lost_total', 'Runs whose lease passed on or could not be extended in time.', {});
const ended = counter('runs_ended_total', 'Runs whose end this process committed.', { role, stop_reason: StopReason.options });
const attempts = counter('model_attempts_total', 'Model calls that came to their end.', { role, outcome: AttemptOutcome.options });
const tokens = counter('model_tokens_total', 'Tokens of model calls, as reported or else estimated.', { kind: ['input', 'output'] });
const modelSeconds = histogram('model_call_seconds', 'Time from the start of a model call to its end.', {});
const toolCalls = counter('tool_calls_total', 'Tool calls executed, by what they do.', { activity, outcome: ['ok', 'error'] });
const toolSeconds = histogram('tool_call_seconds', 'Time of a tool call, with its waiting.', { activity });

export const runsHeld = (count: number): void => held.set({}, count);
export const runLeft = (labels: { role: AssistantRole; exit: RunExit }): void => exits.add(labels);
export const leaseLost = (): void => lost.add({});

/** Keeps the loop's facts in the figures of this process. */
export const agentMetrics: AgentObserver = {
  attemptSettled({ role, outcome, inputTokens, outputTokens, durationMs }) {
    attempts.add({ role, outcome });
    tokens.add({ kind: 'input' }, inputTokens);
    tokens.add({ kind: 'output' }, outputTokens);
    modelSeconds.observe({}, durationMs / 1_000);
  },
  toolSettled({ activity, outcome, durationMs }) {
    toolCalls.add({ activity, outcome });
    toolSeconds.observe({ activity }, durationMs / 1_000);
  },
  runEnded({ role, stopReason }) {
    ended.add({ role, stop_reason: stopReason });
  },
};
