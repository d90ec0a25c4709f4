import { setTimeout as sleep } from 'node:timers/promises';
import { QuaestorError, type DurableEventBody, type ModelMessage, type ModelToolDefinition, type Reasoning, type StopReason, type StreamBlock } from '#contracts';
import { estimateTokens, failureReason, finishingPrompt, nextAttemptDelayMs, renderScratchpad, turnNotice, type NewReservation, type OpenReservation, type TurnSettlement } from '#domain';
import { makeAttempt, type AttemptReport } from './attempt.ts';
import { assistantMessage } from './conversation.ts';
import type { AgentExit } from './dependencies.ts';
import { planCalls, type PlannedCall } from './new-calls.ts';
import type { AgentRun } from './run-agent.ts';

/** A stopped run may take this long for its report, beyond its deadline. */
const FINISH_TIMEOUT_MS = 60_000;
/** A timer may fire this much before the clock says that its time is over. */
const TIMER_SLACK_MS = 100;
const CONTINUE_NOTE = 'Your answer was cut at the length limit. Continue exactly where it stopped, without repeating anything.';

/**
 * One turn: reserve, stream, settle, with bounded retries; each attempt settles once. `finishing` names why the run stops: it then
 * has one attempt, no tools, and its own reservation. Null means that the loop goes on.
 */
export async function takeTurn(run: AgentRun, turn: number, offerTools: boolean, finishing: StopReason | null = null): Promise<AgentExit | null> {
  for (let tries = 1; ; tries++) {
    const attempt = run.attemptsBegun + 1;
    const reservation = finishing === null ? (run.reservation ?? (await reserveNow(run, turn, attempt))) : run.finishReservation;
    if (!reservation) {
      run.budgetRefused = true;
      return null;
    }
    run.reservation = null;
    run.attemptsBegun = attempt;
    const report = await attemptOnce(run, turn, offerTools, finishing, reservation);
    const position = { turn, attempt, reservation, report, finishing };
    if (report.cancelled) return endCancelled(run, position);
    if (report.settlement.kind === 'message') return settleAnswer(run, position, offerTools);
    const delayMs = await settleFailure(run, position, tries);
    if (delayMs === null || typeof delayMs === 'string') return delayMs;
    await sleep(delayMs, undefined, { signal: run.signals.abort }).catch(() => undefined);
    if (run.signals.abort.aborted || run.reservation === null) return null;
  }
}

interface Position {
  turn: number;
  attempt: number;
  reservation: OpenReservation;
  report: AttemptReport;
  finishing: StopReason | null;
}

async function reserveNow(run: AgentRun, turn: number, attempt: number): Promise<OpenReservation | null> {
  const closed = await run.deps.journal.closeTurn(run.claimed.fence, { settled: [], close: null, nextReservation: run.newReservation(turn, attempt) });
  return closed.nextReservation;
}

async function attemptOnce(run: AgentRun, turn: number, offerTools: boolean, finishing: StopReason | null, reservation: OpenReservation): Promise<AttemptReport> {
  const { deps, claimed } = run;
  const tools = offerTools ? run.definitions : [];
  const { role, rootRunId } = claimed.loaded.run;
  const attempt = run.attemptsBegun;
  const { messages, promptTokens } = await promptFor(run, turn, tools, finishing);
  return makeAttempt(
    deps,
    {
      messages,
      tools,
      promptTokens,
      maxOutputTokens: deps.maxOutputTokens,
      timeoutMs: finishing === null ? run.msLeft : FINISH_TIMEOUT_MS,
      ...(role === 'supervisor' ? { onText: (type: 'content' | 'reasoning', text: string) => deps.live(rootRunId, { type, content: text, turn, attempt }) } : {}),
    },
    reservation.estimate,
    run.signals.abort,
  );
}

async function promptFor(run: AgentRun, turn: number, tools: ModelToolDefinition[], finishing: StopReason | null): Promise<{ messages: ModelMessage[]; promptTokens: number }> {
  const { deps, conversation } = run;
  const { turnsMax, role, tenantId, scratchpadThreadId } = run.claimed.loaded.run;
  if (finishing !== null) {
    const note = finishingPrompt(finishing, renderScratchpad(await deps.ports.scratchpad.read(tenantId, scratchpadThreadId)));
    const messages = conversation.finishingPrompt(note);
    return { messages, promptTokens: messages.reduce((sum, message) => sum + estimateTokens(message.content), 0) };
  }
  const note = run.truncatedText !== '' ? CONTINUE_NOTE : turnNotice(turn, turnsMax, role);
  return { messages: conversation.prompt(deps.promptTokensMax, note), promptTokens: conversation.promptTokens(deps.promptTokensMax, tools) };
}

function settlementOf(run: AgentRun, { turn, attempt, reservation, report }: Position, planned: PlannedCall[], next: NewReservation | null): TurnSettlement {
  const { settlement, usage, error } = report;
  const isMessage = settlement.kind === 'message' && settlement.outcome !== 'interrupted';
  return {
    attempt: {
      id: report.id,
      turn,
      attempt,
      kind: settlement.kind,
      outcome: settlement.outcome,
      provider: run.deps.model.id,
      model: run.deps.modelName,
      stream: report.stream,
      usage,
      error: error && { code: error.code, message: error.message },
      startedAtMs: report.startedAtMs,
    },
    charge: { reservation, charge: report.charge },
    message: isMessage ? { content: textOf(settlement.blocks), reasoning: reasoningOf(settlement.blocks) } : null,
    calls: planned.map(({ row }) => row),
    nextReservation: next,
    limitsHit: [],
    events: [settlementEvent(run, turn, attempt, report)],
  };
}

function settlementEvent(run: AgentRun, turn: number, attempt: number, { settlement, usage }: AttemptReport): DurableEventBody {
  const { role, workerNumber } = run.claimed.loaded.run;
  return {
    type: 'settlement',
    role,
    ...(workerNumber === null ? {} : { worker: workerNumber }),
    turn,
    attempt,
    outcome: settlement.outcome,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
  };
}

const textOf = (blocks: readonly StreamBlock[]): string => blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');

function reasoningOf(blocks: readonly StreamBlock[]): Reasoning | null {
  const parts = blocks.filter((block) => block.type === 'reasoning');
  if (parts.length === 0) return null;
  return { text: parts.map((part) => part.text).join(''), field: parts[0]?.field ?? 'reasoning_content' };
}

/** The run's own end beats the attempt: a lost lease writes nothing, a cancel settles what people may still see. */
async function endCancelled(run: AgentRun, position: Position): Promise<AgentExit> {
  const reason: unknown = run.signals.abort.reason;
  if (!(reason instanceof QuaestorError) || reason.code !== 'RUN_CANCELLED') throw reason;
  return run.end(settlementOf(run, position, [], null), 'cancelled', null, null);
}

/** Milliseconds to wait before the next attempt, or how the loop goes on: an exit, or null to decide again. */
async function settleFailure(run: AgentRun, position: Position, tries: number): Promise<number | AgentExit | null> {
  const { turn, attempt, report, finishing } = position;
  const error = report.error ?? new QuaestorError('INTERNAL_ERROR', 'The model call failed without a reason.');
  if (finishing !== null) return run.end(settlementOf(run, position, [], null), finishing, null, error);
  // whoever was stopped by the deadline has met it, not the provider's limits
  if (error.code === 'MODEL_TIMEOUT' && run.msLeft > 0 && run.msLeft < TIMER_SLACK_MS) await sleep(run.msLeft * 2);
  const isOver = run.msLeft <= 0;
  const delayMs = isOver ? null : nextAttemptDelayMs(error, tries, run.msLeft, run.deps.random());
  if (delayMs === null && !isOver) return run.end(settlementOf(run, position, [], null), failureReason(error), null, error);
  const next = delayMs === null ? null : run.newReservation(turn, attempt + 1);
  const settled = await run.deps.journal.settleTurn(run.claimed.fence, settlementOf(run, position, [], next));
  run.overrun = settled.ledger.overrun > 0;
  run.cancelRequested ||= settled.cancelRequested;
  run.reservation = settled.nextReservation;
  run.budgetRefused = next !== null && settled.nextReservation === null;
  run.deps.touched(run.claimed.loaded.run.rootRunId);
  return delayMs;
}

async function settleAnswer(run: AgentRun, position: Position, offerTools: boolean): Promise<AgentExit | null> {
  const { report, finishing, turn } = position;
  if (report.settlement.kind !== 'message') throw new Error('only a message is an answer');
  const { blocks, outcome } = report.settlement;
  const text = textOf(blocks);
  const planned = await planCalls(run.deps, report.id, blocks, offerTools ? run.specs : [], run.callerOf, run.author);
  const settlement = settlementOf(run, position, planned, null);
  if (finishing !== null) return run.end({ ...settlement, calls: [] }, finishing, text.trim() === '' ? null : text, null);
  if (planned.length === 0 && outcome !== 'truncated') return run.end(settlement, 'answered', run.truncatedText + text, null);
  if (planned.length === 0 && run.truncatedText !== '') return endTwiceCut(run, settlement, text);
  const settled = await run.deps.journal.settleTurn(run.claimed.fence, settlement);
  run.turn = turn;
  run.attemptsBegun = 0;
  run.overrun = settled.ledger.overrun > 0;
  run.cancelRequested ||= settled.cancelRequested;
  run.truncatedText = planned.length === 0 ? text : '';
  run.conversation.append(assistantMessage(text, settlement.message?.reasoning ?? null, planned.map(({ row }) => row)));
  run.calls = planned.map(({ progress }, position) => {
    const row = settled.calls[position];
    return row?.result ? { ...progress, status: 'settled', result: row.result } : { ...progress, reservation: row?.reservation ?? null };
  });
  await run.deps.send(settled.jobs);
  return null;
}

/** One bounded continuation, no more: what exists is kept and marked. */
function endTwiceCut(run: AgentRun, settlement: TurnSettlement, text: string): Promise<AgentExit> {
  run.limitsHit.push('output_truncated');
  return run.end(settlement, 'turns_exhausted', run.truncatedText + text, null);
}
