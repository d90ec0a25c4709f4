import { zstdDecompressSync } from 'node:zlib';
import type { LimitHit, RunId, ToolCallId, ToolResult } from '#contracts';
import {
  begunFinishEffect,
  finishEffect,
  limitOfRefusal,
  promptHistoryOf,
  type CallRecord,
  type ClaimedRun,
  type ClosedTurn,
  type EndedRun,
  type Fence,
  type Ledger,
  type LoadedRun,
  type NewCall,
  type NewReservation,
  type OpenReservation,
  type RecordedAttempt,
  type RecordedRun,
  type RunEnding,
  type RunJournal,
  type RunTreeRecord,
  type SettledTurn,
  type TurnClosing,
  type TurnSettlement,
} from '#domain';
import type { ReplayState } from './replay-state.ts';

/** Settled by the settlement of the answer itself: it could not be parsed, the record answered it, or a limit refused it. */
const endsAtOnce = ({ refusal, recorded }: NewCall, { status }: CallRecord): boolean => refusal !== null || recorded !== null || status === 'refused';

/** A journal that writes nothing: it holds everything the loop wants to write against what was written, and answers as the database did. */
export class RecordedJournal implements RunJournal {
  readonly #state: ReplayState;
  readonly #tree: RunTreeRecord;

  constructor(state: ReplayState, tree: RunTreeRecord) {
    this.#state = state;
    this.#tree = tree;
  }

  async claim(runId: RunId, reserveFirst: (loaded: LoadedRun) => NewReservation[]): Promise<ClaimedRun | null> {
    await Promise.resolve();
    const loaded = loadedAt(this.#state);
    const wanted = loaded.run.cancelRequested ? [] : reserveFirst(loaded);
    const { rootRunId, tenantId, leaseEpoch } = loaded.run;
    return {
      loaded,
      fence: { tenantId, runId, rootRunId, leaseEpoch, incarnation: 'recorded' },
      reservations: wanted.flatMap((reservation) => this.#granted(reservation) ?? []),
      refused: wanted.filter((reservation) => !this.#granted(reservation)).map(({ operation }) => operation),
    };
  }

  async settleTurn(_fence: Fence, settlement: TurnSettlement): Promise<SettledTurn> {
    await Promise.resolve();
    this.#settle(settlement);
    const calls = settlement.calls.flatMap((call) => {
      const row = this.#state.calls.get(call.toolCallId);
      return row ? [{ row, ended: endsAtOnce(call, row) }] : [];
    });
    for (const { row, ended } of calls) if (ended) this.#state.settled.add(row.toolCallId);
    const isStopped = calls.every(({ row }) => row.status === 'cancelled');
    return {
      calls: calls.map(({ row, ended }) => ({ toolCallId: row.toolCallId, status: ended ? row.status : 'open', result: ended ? row.result : null, reservation: null })),
      limitsHit: calls.flatMap(({ row, ended }) => (ended ? limitOfRefusal(row.result) : [])),
      jobs: [],
      ...(isStopped ? this.#outside() : { ledger: ledgerOf(false), cancelRequested: false }),
    };
  }

  async closeTurn(_fence: Fence, closing: TurnClosing): Promise<ClosedTurn> {
    await Promise.resolve();
    const state = this.#state;
    state.go();
    for (const { toolCallId, result } of closing.settled) {
      state.check('result', state.calls.get(toolCallId)?.result ?? null, result, { toolCallId });
      state.settled.add(toolCallId);
    }
    for (const toolCallId of closing.close?.toolCallIds ?? []) {
      state.check('tool message', true, state.calls.get(toolCallId)?.closed ?? false, { toolCallId });
      state.closed.add(toolCallId);
    }
    const isEarly = closing.settled.length > 0 && !closing.close;
    return {
      nextReservation: this.#granted(closing.nextReservation),
      results: new Map(),
      sourceCapReached: false,
      ...(isEarly ? { ledger: ledgerOf(false), cancelRequested: false } : this.#outside()),
    };
  }

  async beginFinish(): Promise<{ cancelRequested: boolean }> {
    await Promise.resolve();
    this.#state.go();
    return { cancelRequested: this.#outside().cancelRequested };
  }

  async park(): Promise<boolean> {
    await Promise.resolve();
    this.#state.go();
    return true;
  }

  async results(_fence: Fence, toolCallIds: ToolCallId[]): Promise<Map<ToolCallId, ToolResult>> {
    await Promise.resolve();
    return new Map(toolCallIds.flatMap((toolCallId) => [[toolCallId, this.#state.calls.get(toolCallId)?.result] as const]).filter((entry): entry is [ToolCallId, ToolResult] => !!entry[1]));
  }

  async release(): Promise<never> {
    await Promise.resolve();
    return this.#state.recordIsOver('a hand-over');
  }

  async endRun(_fence: Fence, settlement: TurnSettlement | null, ending: RunEnding): Promise<EndedRun> {
    await Promise.resolve();
    const state = this.#state;
    if (settlement) this.#settle(settlement);
    state.go();
    this.#checkEnding(ending);
    state.hasEnded = true;
    return { jobs: [] };
  }

  #checkEnding(ending: RunEnding): void {
    const state = this.#state;
    const { record } = state;
    state.check('stop reason', record.stopReason, ending.stopReason, { attempt: undefined });
    state.check('status', record.status, ending.status);
    state.check('left-over attempts', [], state.attempts.slice(state.position).filter(({ outcome }) => outcome !== 'lost').map(({ turn, attempt }) => `${turn}.${attempt}`));
    if (state.endedElsewhere) return;
    state.check('error', record.error, ending.error);
    state.check('report', record.report, ending.report);
    state.check('citations', record.citations === null ? null : JSON.parse(record.citations), ending.citations === null ? null : JSON.parse(ending.citations));
    state.check('limits', sortedLimits(record.loaded.run.limitsHit), sortedLimits(ending.limitsHit));
    this.#checkDelegation(record, ending);
  }

  /** What a worker gives back is what its supervisor was given. */
  #checkDelegation({ loaded }: RecordedRun, { delegationResult }: RunEnding): void {
    const toolCallId = loaded.run.parentToolCallId;
    if (toolCallId === null || !delegationResult) return;
    const call = this.#tree.runs.flatMap(({ loaded: parent }) => parent.calls).find((candidate) => candidate.toolCallId === toolCallId);
    if (call && call.status !== 'cancelled') this.#state.check('result of the delegation', call.result, delegationResult);
  }

  #settle(settlement: TurnSettlement): void {
    const state = this.#state;
    state.go();
    const recorded = state.next;
    const { attempt, message, calls } = settlement;
    if (!recorded) return state.recordIsOver(`an attempt that ends ${attempt.outcome}`);
    const place = { attempt: recorded };
    state.check('place', `${recorded.turn}.${recorded.attempt}`, `${attempt.turn}.${attempt.attempt}`, place);
    state.check('outcome', [recorded.kind, recorded.outcome], [attempt.kind, attempt.outcome], place);
    state.check('error', recorded.error, attempt.error, place);
    state.check('summary', recorded.summary, attempt.summary, place);
    state.check('stream', recorded.stream, attempt.stream === null ? null : zstdDecompressSync(attempt.stream).toString('utf8'), place);
    if (!recorded.usage.estimated) state.check('usage', [recorded.usage.inputTokens, recorded.usage.outputTokens], [attempt.usage.inputTokens, attempt.usage.outputTokens], place);
    const row = state.record.loaded.messages.find(({ attemptId }) => attemptId === recorded.id);
    state.check('answer', row ? { content: row.content, reasoning: row.reasoning, replay: row.replay } : null, message && { content: message.content, reasoning: message.reasoning, replay: message.replay }, place);
    this.#checkCalls(recorded, calls);
    state.position++;
    if (message) state.settledTurn = attempt.turn;
  }

  #checkCalls(recorded: RecordedAttempt, calls: readonly NewCall[]): void {
    const state = this.#state;
    const rows = state.record.loaded.calls.filter(({ attemptId }) => attemptId === recorded.id);
    state.check('calls', rows.map(factsOf), calls.map(factsOf), { attempt: recorded });
    for (const { toolCallId, refusal, recorded: known, delegation } of calls) {
      const row = state.calls.get(toolCallId);
      if (refusal ?? known) state.check('result', row?.result ?? null, refusal ?? known, { toolCallId });
      const child = delegation && this.#tree.runs.find(({ loaded }) => loaded.run.parentToolCallId === toolCallId);
      if (delegation && child) state.check('task', [child.question, child.loaded.messages[0]?.content], [delegation.task, delegation.prompt], { toolCallId });
    }
  }

  #granted(wanted: NewReservation | null): OpenReservation | null {
    const isGranted = wanted?.operation === 'finish' ? allowancesOf(this.#state).left > 0 : wanted && this.#state.record.effects.has(wanted.effectKey);
    return wanted && isGranted ? { id: wanted.id, operation: wanted.operation, estimate: wanted.estimate } : null;
  }

  #outside(): { ledger: Ledger; cancelRequested: boolean } {
    const { cancelled, overrun, deadline } = this.#state.outside;
    if (deadline) this.#state.meetDeadline();
    return { ledger: ledgerOf(overrun), cancelRequested: cancelled };
  }
}

const ledgerOf = (overrun: boolean): Ledger => ({ limit: 0, reserved: 0, spent: 0, overrun: overrun ? 1 : 0 });

const factsOf = ({ toolCallId, callIndex, providerCallId, name, arguments: given }: Pick<CallRecord, 'toolCallId' | 'callIndex' | 'providerCallId' | 'name' | 'arguments'>): unknown => [toolCallId, callIndex, providerCallId, name, given];

const sortedLimits = (limits: readonly LimitHit[]): LimitHit[] => [...new Set(limits)].sort();

/** Finishing allowances: those whose calls had begun at this point of the run's history, and those it was still to use. */
function allowancesOf({ record, attempts, position }: ReplayState): { begun: number; left: number } {
  const { loaded, effects } = record;
  const granted = [...effects].filter((effect) => effect.startsWith(finishEffect(loaded.run.id))).length;
  const begun = attempts.slice(0, position).filter((attempt) => effects.has(begunFinishEffect(loaded.run.id, attempt))).length;
  return { begun, left: granted - begun };
}

/** The run as a claimant found it at this point of its history. */
function loadedAt(state: ReplayState): LoadedRun {
  const { record, settledTurn, closed, settled } = state;
  const { loaded } = record;
  const { attempts } = state;
  const { cancelled, overrun, deadline } = state.outside;
  if (deadline) state.meetDeadline();
  const turnOf = new Map(attempts.map(({ id, turn }) => [id, turn]));
  const begunNow = attempts.slice(0, state.position).filter(({ turn }) => turn === settledTurn + 1);
  const { begun, left } = allowancesOf(state);
  const isClaimedAgain = state.position > 0 || settledTurn > 0;
  return {
    ...loaded,
    run: { ...loaded.run, turn: settledTurn, cancelRequested: cancelled, limitsHit: [], msLeft: deadline ? -1 : state.farMs },
    messages: loaded.messages.filter(({ role, attemptId, toolCallId }, index) => index < record.earlierMessages || role === 'user' || (toolCallId ? closed.has(toolCallId) : attemptId !== null && (turnOf.get(attemptId) ?? Infinity) <= settledTurn)),
    calls: loaded.calls.filter(({ turn, inherited }) => inherited || turn <= settledTurn).map((call) => ({ ...call, reservation: null, deaths: 0, closed: closed.has(call.toolCallId), ...(settled.has(call.toolCallId) || call.status !== 'open' ? {} : { status: 'open' as const, result: null }) })),
    ledger: ledgerOf(overrun),
    attemptsBegun: begunNow.length,
    attemptsFailed: begunNow.filter(({ kind, outcome }) => kind !== 'summary' && (outcome === 'failed' || outcome === 'filtered' || outcome === 'empty')).length,
    finishesBegun: begun,
    prompts: promptHistoryOf(attempts.slice(0, state.position).map((attempt) => ({ ...attempt, errorCode: attempt.error?.code ?? null }))),
    finishReservation: isClaimedAgain && begun === 0 && left > 0 ? { id: 'res_finish' as OpenReservation['id'], operation: 'finish', estimate: 0 } : null,
  };
}
