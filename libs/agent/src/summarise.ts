import { QuaestorError, type ModelMessage } from '#contracts';
import { estimateTokens, modelRoleOf, SUMMARY_CHARS_MAX, summaryPrompt, textOfBlocks, truncateChars, type OpenReservation, type TurnSettlement } from '#domain';
import { makeAttempt, type AttemptReport } from './attempt.ts';
import type { AgentExit } from './dependencies.ts';
import { endRun } from './end-run.ts';
import { observeAttempt, settlementEvent } from './attempt-news.ts';
import type { RunState } from './run-state.ts';

/**
 * Has the run's model summarise groups that are left out from this turn on; the attempt is reserved, charged and settled like any other, as one
 * of kind `summary`. When it fails the groups are simply left out, which the record shows: the attempt has an outcome and no summary.
 */
export async function summarise(state: RunState, turn: number, attempt: number, offerTools: boolean, leftOut: readonly ModelMessage[], reservation: OpenReservation): Promise<AgentExit | null> {
  const { deps, claimed, conversation, promptTokensMax } = state;
  const modelRole = modelRoleOf(claimed.loaded.run.role, offerTools, false);
  const choice = state.choiceOf(modelRole);
  const messages = summaryPrompt({ question: conversation.question, summary: conversation.summary, leftOut }, promptTokensMax);
  const promptTokens = messages.reduce((sum, { content }) => sum + estimateTokens(content), 0);
  const report = await makeAttempt(deps, { choice, messages, tools: [], promptTokens, promptTokensMax, timeoutMs: state.msLeft }, reservation.estimate, state.signals.abort);
  observeAttempt(state, report);
  const summary = summaryOf(report);
  const settlement: TurnSettlement = {
    attempt: {
      id: report.id,
      turn,
      attempt,
      kind: 'summary',
      outcome: report.settlement.outcome,
      provider: choice.model.id,
      model: choice.modelName,
      fallbackReason: state.fallbackReason(modelRole),
      stream: report.stream,
      usage: report.usage,
      error: report.error && { code: report.error.code, message: report.error.message },
      startedAtMs: report.startedAtMs,
      prompt: { ...report.prompt, pageChars: deps.ports.pageChars, folds: state.folds, cut: conversation.cut },
      summary,
    },
    charge: { reservation, charge: report.charge },
    message: null,
    calls: [],
    limitsHit: [],
    events: [settlementEvent(state, turn, attempt, report, state.fallbackReason(modelRole))],
  };
  if (report.cancelled) return endCancelled(state, settlement);
  const settled = await deps.journal.settleTurn(claimed.fence, settlement);
  state.overrun = settled.ledger.overrun > 0;
  state.cancelRequested ||= settled.cancelRequested;
  if (summary !== null) conversation.summarise(summary);
  deps.touched(claimed.loaded.run.rootRunId);
  return null;
}

/** A whole answer with text, or null: half a summary would pass for all that was found. */
function summaryOf({ settlement }: AttemptReport): string | null {
  if (settlement.kind !== 'message' || settlement.outcome !== 'completed') return null;
  const text = textOfBlocks(settlement.blocks).trim();
  return text === '' ? null : truncateChars(text, SUMMARY_CHARS_MAX);
}

function endCancelled(state: RunState, settlement: TurnSettlement): Promise<AgentExit> {
  const reason: unknown = state.signals.abort.reason;
  if (!(reason instanceof QuaestorError) || reason.code !== 'RUN_CANCELLED') throw reason;
  return endRun(state, settlement, 'cancelled', null, null);
}
