import { QuaestorError, type LiveOutcome, type ModelMessage, type ModelToolDefinition, type StopReason } from '#contracts';
import { estimateTokens, failureReason, finishingPrompt, modelRoleOf, nextTry, reasoningOfBlocks, renderScratchpad, textOfBlocks, truncateChars, turnNotice, vendorOf, type ModelChoice, type ModelRole, type OpenReservation, type TurnSettlement } from '#domain';
import { crashPoint } from '#planted';
import { observeAttempt, settlementEvent } from './attempt-news.ts';
import { makeAttempt, type AttemptReport } from './attempt.ts';
import { assistantMessage } from './conversation.ts';
import type { AgentExit } from './dependencies.ts';
import { planCalls, type PlannedCall } from './new-calls.ts';
import { FINISH_PROMPT_TOKENS, finishAllowance } from './reservations.ts';
import { endRun } from './end-run.ts';
import type { RunState } from './run-state.ts';
import { summarise } from './summarise.ts';

/** A stopped run may take this long for its report, beyond its deadline. */
const FINISH_TIMEOUT_MS = 60_000;
/** A timer may fire this much before the clock says that its time is over. */
const TIMER_SLACK_MS = 100;
/** Fits the prompt that the finishing allowance is sized for, beside the role and the question. */
const FINISH_FINDINGS_CHARS_MAX = (FINISH_PROMPT_TOKENS - 2_000) * 3;
const AT_ONCE = { kind: 'again', delayMs: 0 } as const;
const CONTINUE_NOTE = 'Your answer was cut at the length limit. Continue exactly where it stopped, without repeating anything.';

/**
 * One turn: reserve, stream, settle, with bounded retries; each attempt settles once. `finishing` names why the run stops: it then
 * has one attempt, no tools, and its own reservation. Null means that the loop goes on.
 */
export async function takeTurn(state: RunState, turn: number, offerTools: boolean, finishing: StopReason | null = null): Promise<AgentExit | null> {
  for (;;) {
    const attempt = state.attemptsBegun + 1;
    const leftOut = finishing === null ? state.fitPrompt(turn) : [];
    const reservation = await (finishing === null ? reservationFor(state, turn, attempt) : beginFinish(state, turn, attempt));
    if (!reservation) return null;
    state.reservation = null;
    state.attemptsBegun = attempt;
    if (leftOut.length > 0) {
      const exit = await summarise(state, turn, attempt, offerTools, leftOut, reservation);
      if (exit || state.overrun || state.cancelRequested) return exit;
      continue;
    }
    const modelRole = modelRoleOf(state.claimed.loaded.run.role, offerTools, finishing !== null);
    const choice = state.choiceOf(modelRole);
    const report = await attemptOnce(state, choice, turn, offerTools, finishing, reservation);
    crashPoint('K10');
    const position = { modelRole, choice, turn, attempt, reservation, report, finishing };
    if (report.cancelled) return tellingEnd(state, position, () => endCancelled(state, position));
    if (report.settlement.kind === 'message') return tellingEnd(state, position, () => settleAnswer(state, position, offerTools));
    const delayMs = await tellingEnd(state, position, () => settleFailure(state, position));
    if (delayMs === null || typeof delayMs === 'string') return delayMs;
    if (!(await waitToRetry(state, delayMs))) return null;
  }
}

/** Whoever watches is told that a call is over once its settlement is committed, and that its text is void when it could not be. */
async function tellingEnd<Result>({ deps, claimed }: RunState, { turn, attempt }: Position, settle: () => Promise<Result>): Promise<Result> {
  const { role, rootRunId } = claimed.loaded.run;
  const tell = (outcome: LiveOutcome): void => void (role === 'supervisor' && deps.live(rootRunId, { type: 'end', turn, attempt, outcome }));
  try {
    const result = await settle();
    tell('committed');
    return result;
  } catch (error) {
    tell('abandoned');
    throw error;
  }
}

/** False when there is no next attempt here: the run is cancelled, lost, out of credits, or handed over instead. */
async function waitToRetry(state: RunState, delayMs: number): Promise<boolean> {
  if (state.overrun || state.cancelRequested) return false;
  const ended = AbortSignal.any([state.signals.abort, state.signals.drain]);
  await state.deps.sleep(delayMs, ended);
  return !ended.aborted;
}

/**
 * What the attempt is paid from: reserved with the commit before it, or now. A commit of its own also reads whether the run was cancelled while
 * it waited for this try. Null when there is none: the next decision knows why.
 */
async function reservationFor(state: RunState, turn: number, attempt: number): Promise<OpenReservation | null> {
  if (state.reservation) return state.reservation;
  const { fence } = state.claimed;
  const closed = await state.deps.journal.closeTurn(fence, { settled: [], close: null, nextReservation: state.newReservation(turn, attempt) });
  state.cancelRequested ||= closed.cancelRequested;
  state.budgetRefused = closed.nextReservation === null;
  return state.cancelRequested ? null : closed.nextReservation;
}

/** The finishing allowance, once it is written down that this attempt uses it. */
async function beginFinish(state: RunState, turn: number, attempt: number): Promise<OpenReservation | null> {
  if (!state.finishReservation) return null;
  const { cancelRequested } = await state.deps.journal.beginFinish(state.claimed.fence, state.finishReservation, { turn, attempt });
  state.cancelRequested ||= cancelRequested;
  return state.cancelRequested ? null : state.finishReservation;
}

interface Position {
  modelRole: ModelRole;
  choice: ModelChoice;
  turn: number;
  attempt: number;
  reservation: OpenReservation;
  report: AttemptReport;
  finishing: StopReason | null;
}

async function attemptOnce(state: RunState, choice: ModelChoice, turn: number, offerTools: boolean, finishing: StopReason | null, reservation: OpenReservation): Promise<AttemptReport> {
  const { deps, claimed } = state;
  const tools = offerTools ? state.definitions : [];
  const { role, rootRunId } = claimed.loaded.run;
  const attempt = state.attemptsBegun;
  const tokensMax = state.promptTokensMax;
  const { messages, promptTokens } = await promptFor(state, turn, tools, finishing);
  const report = await makeAttempt(
    deps,
    {
      choice,
      messages,
      tools,
      promptTokens,
      promptTokensMax: tokensMax,
      timeoutMs: finishing === null ? state.msLeft : FINISH_TIMEOUT_MS,
      ...(role === 'supervisor' ? { onText: (type: 'content' | 'reasoning', text: string) => deps.live(rootRunId, { type, content: text, turn, attempt }) } : {}),
    },
    reservation.estimate,
    state.signals.abort,
  );
  observeAttempt(state, report);
  return report;
}

async function promptFor(state: RunState, turn: number, tools: ModelToolDefinition[], finishing: StopReason | null): Promise<{ messages: ModelMessage[]; promptTokens: number }> {
  const { deps, conversation } = state;
  const { turnsMax, role, tenantId, scratchpadThreadId } = state.claimed.loaded.run;
  if (finishing !== null) {
    const findings = renderScratchpad(await deps.ports.scratchpad.read(tenantId, scratchpadThreadId));
    const note = finishingPrompt(finishing, truncateChars(findings, FINISH_FINDINGS_CHARS_MAX));
    const messages = conversation.finishingPrompt(note);
    return { messages, promptTokens: messages.reduce((sum, message) => sum + estimateTokens(message.content), 0) };
  }
  const note = state.truncatedText !== '' ? CONTINUE_NOTE : turnNotice(turn, turnsMax, role);
  const { promptTokensMax } = state;
  return { messages: conversation.prompt(note), promptTokens: conversation.promptTokens(promptTokensMax, tools) };
}

function settlementOf(state: RunState, { modelRole, choice, turn, attempt, reservation, report }: Position, planned: PlannedCall[]): TurnSettlement {
  const { settlement, usage, error } = report;
  const isMessage = settlement.kind === 'message' && settlement.outcome !== 'interrupted';
  return {
    attempt: {
      id: report.id,
      turn,
      attempt,
      kind: settlement.kind,
      outcome: settlement.outcome,
      provider: choice.model.id,
      model: choice.modelName,
      fallbackReason: state.fallbackReason(modelRole),
      stream: report.stream,
      usage,
      error: error && { code: error.code, message: error.message },
      startedAtMs: report.startedAtMs,
      prompt: { ...report.prompt, pageChars: state.deps.ports.pageChars, folds: state.folds, cut: state.conversation.cut },
      summary: null,
    },
    charge: { reservation, charge: report.charge },
    message: isMessage ? { content: textOfBlocks(settlement.blocks), reasoning: reasoningOfBlocks(settlement.blocks), vendor: vendorOf(choice.model, choice.modelName), replay: report.replay } : null,
    calls: planned.map(({ row }) => row),
    limitsHit: [],
    events: [settlementEvent(state, turn, attempt, report, state.fallbackReason(modelRole))],
  };
}

/** The run's own end beats the attempt: a lost lease writes nothing, a cancel settles what people may still see. */
async function endCancelled(state: RunState, position: Position): Promise<AgentExit> {
  const reason: unknown = state.signals.abort.reason;
  if (!(reason instanceof QuaestorError) || reason.code !== 'RUN_CANCELLED') throw reason;
  return endRun(state, settlementOf(state, position, []), 'cancelled', null, null);
}

/** Milliseconds to wait before the next attempt, or how the loop goes on: an exit, or null to decide again. */
async function settleFailure(state: RunState, position: Position): Promise<number | AgentExit | null> {
  const { report, finishing } = position;
  const error = report.error ?? new QuaestorError('INTERNAL_ERROR', 'The model call failed without a reason.');
  if (finishing !== null) return failFinish(state, position, finishing, error);
  // whoever was stopped by the deadline has met it, not the provider's limits
  if (error.code === 'MODEL_TIMEOUT' && state.msLeft > 0 && state.msLeft < TIMER_SLACK_MS) await state.deps.sleep(state.msLeft * 2, AbortSignal.any([]));
  const isOver = state.msLeft <= 0;
  state.attemptsFailed++;
  const shrinks = !isOver && error.code === 'MODEL_CONTEXT_OVERFLOW' && state.shrinkAfter(report.prompt.tokens);
  const next = isOver ? null : shrinks ? AT_ONCE : nextTry(error, state.attemptsFailed, state.msLeft, state.deps.random(), state.hasFallback(position.modelRole));
  if (next === null && !isOver) return endRun(state, settlementOf(state, position, []), failureReason(error), null, error);
  const settled = await state.deps.journal.settleTurn(state.claimed.fence, settlementOf(state, position, []));
  state.overrun = settled.ledger.overrun > 0;
  state.cancelRequested ||= settled.cancelRequested;
  state.deps.touched(state.claimed.loaded.run.rootRunId);
  if (next?.kind === 'fall-back') state.fallBack(position.modelRole, error.code);
  return next === null ? null : next.kind === 'again' ? next.delayMs : 0;
}

/** The finishing call has one attempt with each model: with the next one when there is one, and money for it. */
async function failFinish(state: RunState, position: Position, finishing: StopReason, error: QuaestorError): Promise<number | AgentExit> {
  const { modelRole } = position;
  if (!error.code.startsWith('MODEL_') || !state.hasFallback(modelRole)) return endRun(state, settlementOf(state, position, []), finishing, null, error);
  const { journal } = state.deps;
  const { fence } = state.claimed;
  await journal.settleTurn(fence, settlementOf(state, position, []));
  state.fallBack(modelRole, error.code);
  const { nextReservation, cancelRequested } = await journal.closeTurn(fence, { settled: [], close: null, nextReservation: finishAllowance(state.deps, state.claimed.loaded.run.id, state.choiceOf(modelRole)) });
  state.cancelRequested ||= cancelRequested;
  state.finishReservation = nextReservation;
  return nextReservation === null && !state.cancelRequested ? endRun(state, null, finishing, null, error) : 0;
}

async function settleAnswer(state: RunState, position: Position, offerTools: boolean): Promise<AgentExit | null> {
  const { report, finishing, turn } = position;
  if (report.settlement.kind !== 'message') throw new Error('only a message is an answer');
  const { blocks, outcome } = report.settlement;
  const text = textOfBlocks(blocks);
  const planned = await planCalls({ ...state.planContext(report.id, turn), offered: offerTools ? state.specs : [] }, blocks);
  const settlement = settlementOf(state, position, planned);
  if (finishing !== null) return endRun(state, { ...settlement, calls: [] }, finishing, text.trim() === '' ? null : text, null);
  if (planned.length === 0 && outcome !== 'truncated') return endRun(state, settlement, 'answered', state.truncatedText + text, null);
  if (planned.length === 0 && state.truncatedText !== '') return endTwiceCut(state, settlement, text);
  const settled = await state.deps.journal.settleTurn(state.claimed.fence, settlement);
  state.beginTurnAfter(turn);
  state.overrun = settled.ledger.overrun > 0;
  state.cancelRequested ||= settled.cancelRequested;
  if (!report.usage.estimated) state.counted = { estimated: report.prompt.tokens, reported: report.usage.inputTokens };
  state.limitsHit = [...new Set([...state.limitsHit, ...settled.limitsHit])];
  state.truncatedText = planned.length === 0 ? text : '';
  state.conversation.append(assistantMessage(settlement.message ?? { content: text, reasoning: null, vendor: null }, planned.map(({ row }) => row)));
  state.calls = planned.map(({ progress }, position) => {
    const row = settled.calls[position];
    return row?.result ? { ...progress, status: 'settled', result: row.result } : { ...progress, reservation: row?.reservation ?? null };
  });
  crashPoint('K12');
  await state.deps.send(settled.jobs);
  return null;
}

/** One bounded continuation, no more: what exists is kept and marked. */
function endTwiceCut(state: RunState, settlement: TurnSettlement, text: string): Promise<AgentExit> {
  state.limitsHit.push('output_truncated');
  return endRun(state, settlement, 'turns_exhausted', state.truncatedText + text, null);
}
