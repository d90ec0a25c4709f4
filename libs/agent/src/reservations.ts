import { ATTEMPTS_PER_TURN_MAX, type RunId } from '#contracts';
import { estimateTokens, finishEffect, mintId, modelCost, modelEffect, offeredTools, toolDefinitions, type LoadedRun, type ModelChoice, type NewReservation } from '#domain';
import { systemPromptOf } from './conversation.ts';
import type { AgentDependencies } from './dependencies.ts';

/** Prompt the finishing call is sized for: a stopped run writes its report from its findings, not from whole pages. */
export const FINISH_PROMPT_TOKENS = 8_000;

/**
 * What a claim reserves in its own commit: for a root run the finishing allowance, before anything else is spent, and for a run that has
 * only its question the first model call. A history with results is priced when it has been rendered.
 */
export function firstReservations(deps: AgentDependencies, loaded: LoadedRun): NewReservation[] {
  const { run } = loaded;
  const wanted: NewReservation[] = [];
  const [synthesis] = deps.models.synthesis;
  const [first] = deps.models[run.role];
  if (wantsAllowance(loaded)) wanted.push(finishAllowance(deps, run.id, synthesis));
  if (run.turn === 0 && loaded.messages.every((message) => message.role === 'user')) {
    const definitions = toolDefinitions(offeredTools(deps.tools, loaded.assistant.capabilities, run.role));
    const texts = [systemPromptOf(loaded), ...loaded.messages.map((message) => message.content), JSON.stringify(definitions)];
    const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
    const effectKey = modelEffect(run.id, { turn: 1, attempt: loaded.attemptsBegun + 1 });
    wanted.push({ id: mintId('res', deps.randomBytes()), effectKey, operation: 'model', estimate: modelCost(first.price, tokens, first.maxOutputTokens) });
  }
  return wanted;
}

/** What the finishing call with this model may cost. */
export const finishAllowance = ({ randomBytes }: AgentDependencies, runId: RunId, { price, maxOutputTokens }: ModelChoice): NewReservation => ({
  id: mintId('res', randomBytes()),
  effectKey: finishEffect(runId),
  operation: 'finish',
  estimate: modelCost(price, FINISH_PROMPT_TOKENS, maxOutputTokens),
});

/** Before anything else is spent; and again when the call was lost with its process, which stays spent, as long as there is money and patience. */
function wantsAllowance({ run, finishReservation, finishesBegun }: LoadedRun): boolean {
  if (run.role !== 'supervisor' || finishReservation) return false;
  return finishesBegun < ATTEMPTS_PER_TURN_MAX;
}
