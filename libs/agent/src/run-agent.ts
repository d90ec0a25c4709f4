import { assertNever, QuaestorError, type LimitHit, type ModelToolDefinition, type RunId, type StopReason, type ToolCallId, type ToolResult } from '#contracts';
import {
  decide,
  mintId,
  modelCost,
  offeredTools,
  toolDefinitions,
  type ClaimedRun,
  type EventAuthor,
  type LoadedRun,
  type LoopState,
  type NewReservation,
  type OpenReservation,
  type RunEnding,
  type ToolCaller,
  type ToolSpec,
  type TurnSettlement,
} from '#domain';
import { cutAnswerOf, loadConversation, renderForModel, toolMessage, type Conversation } from './conversation.ts';
import type { AgentDependencies, AgentExit, RunSignals } from './dependencies.ts';
import { rootEnding, workerEnding, type EndingFacts } from './ending.ts';
import { resumeCalls } from './resume-calls.ts';
import { takeTurn } from './model-turn.ts';
import { executeCall, type CallInProgress, type ExecutedCall } from './tool-execution.ts';
import { firstReservations } from './reservations.ts';

/**
 * The one loop, for supervisor and worker runs: decide, do, commit, repeat. A resumed run is simply one whose first iteration finds
 * more history. Everything durable goes through the journal; a lost lease ends the loop with `LEASE_LOST` and no further write.
 */
export class AgentRun {
  readonly deps: AgentDependencies;
  readonly signals: RunSignals;
  readonly claimed: ClaimedRun;
  readonly specs: ToolSpec[];
  readonly definitions: ModelToolDefinition[];
  readonly author: EventAuthor;
  conversation!: Conversation;
  calls: CallInProgress[] = [];
  turn: number;
  attemptsBegun: number;
  reservation: OpenReservation | null = null;
  finishReservation: OpenReservation | null = null;
  budgetRefused = false;
  overrun: boolean;
  cancelRequested: boolean;
  limitsHit: LimitHit[];
  /** Text of answers that were cut at the length limit, waiting for their continuation. */
  truncatedText: string;
  readonly #deadlineAtMs: number;
  readonly #rendered = new Map<ToolCallId, string>();
  /** One sentence for each delegation that failed. */
  readonly #failures: string[] = [];
  /** Findings this run has promoted. */
  #findings = 0;

  constructor(deps: AgentDependencies, claimed: ClaimedRun, signals: RunSignals) {
    const { run, assistant, ledger } = claimed.loaded;
    this.deps = deps;
    this.signals = signals;
    this.claimed = claimed;
    this.specs = offeredTools(deps.tools, assistant.capabilities, run.role);
    this.definitions = toolDefinitions(this.specs);
    this.author = { role: run.role, assistantId: run.assistantId, worker: run.workerNumber };
    this.turn = run.turn;
    this.attemptsBegun = claimed.loaded.attemptsBegun;
    this.reservation = claimed.reservations.find(({ operation }) => operation === 'model') ?? null;
    this.finishReservation = claimed.reservations.find(({ operation }) => operation === 'finish') ?? claimed.loaded.finishReservation;
    this.budgetRefused = claimed.refused.length > 0;
    this.overrun = ledger.overrun > 0;
    this.cancelRequested = run.cancelRequested;
    this.limitsHit = [...run.limitsHit];
    this.truncatedText = cutAnswerOf(claimed.loaded);
    this.#deadlineAtMs = deps.nowMs() + run.msLeft;
    for (const call of claimed.loaded.calls) if (call.closed && call.result) this.#account(call.name, call.result);
  }

  get msLeft(): number {
    return this.#deadlineAtMs - this.deps.nowMs();
  }

  async go(): Promise<AgentExit> {
    const { loaded } = this.claimed;
    this.conversation = await loadConversation(loaded, this.deps.ports);
    this.calls = resumeCalls(loaded, this.specs);
    this.deps.touched(loaded.run.rootRunId);
    for (;;) {
      const exit = await this.#step();
      this.deps.touched(loaded.run.rootRunId);
      if (exit) return exit;
    }
  }

  async #step(): Promise<AgentExit | null> {
    this.#checkSignals();
    const step = decide(this.#state());
    switch (step.kind) {
      case 'callModel':
        if (this.signals.drain.aborted) return this.#release();
        return takeTurn(this, step.turn, step.offerTools);
      case 'executeTools':
        await this.#executeTools();
        return null;
      case 'closeTurn':
        await this.#closeTurn([]);
        return null;
      case 'park':
        return this.#park();
      case 'complete':
        return this.end(null, 'answered', this.truncatedText + (this.conversation.lastAssistant?.content ?? ''), null);
      case 'stop':
        return this.#stop(step.reason);
      default:
        return assertNever(step);
    }
  }

  #checkSignals(): void {
    const { abort } = this.signals;
    if (!abort.aborted) return;
    const reason: unknown = abort.reason;
    if (reason instanceof QuaestorError && reason.code === 'RUN_CANCELLED') this.cancelRequested = true;
    else throw reason;
  }

  #state(): LoopState {
    const { run } = this.claimed.loaded;
    return {
      role: run.role,
      turn: this.turn,
      turnsMax: run.turnsMax,
      calls: this.calls.map((call) => ({ status: call.status, deferred: call.spec?.effect === 'delegate' })),
      answered: this.conversation.endsWithAnswer && this.truncatedText === '',
      cancelRequested: this.cancelRequested,
      deadlineReached: this.msLeft <= 0,
      budgetRefused: this.budgetRefused,
      overrun: this.overrun,
    };
  }

  callerOf = (toolCallId: ToolCallId): ToolCaller => {
    const { run } = this.claimed.loaded;
    return {
      tenantId: run.tenantId,
      runId: run.id,
      rootRunId: run.rootRunId,
      role: run.role,
      scratchpadThreadId: run.scratchpadThreadId,
      toolCallId,
      worker: run.workerNumber,
    };
  };

  /** Runs every immediate call of the turn at once; each settles on its own, and the last one closes the turn in the same commit. */
  async #executeTools(): Promise<void> {
    const open = this.calls.filter((call) => call.status === 'open' && call.spec?.effect !== 'delegate');
    let left = open.length;
    let last: ExecutedCall | null = null;
    const outcomes = await Promise.allSettled(
      open.map(async (call) => {
        const executed = await executeCall(this.deps, call, this.callerOf(call.toolCallId), this.author, this.msLeft, this.signals.abort);
        call.status = 'settled';
        call.result = executed.settled.result;
        this.#rendered.set(call.toolCallId, executed.rendered);
        // awaited here: a rejection that nobody hears while a slow call goes on would end the process
        if (--left > 0) await this.#settleEarly(executed);
        else last = executed;
      }),
    );
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) return this.#afterAbort(failure.reason);
    const closable = this.calls.every((call) => call.status === 'settled');
    if (last && closable) await this.#closeTurn([last]);
    else if (last) await this.#settleEarly(last);
  }

  /** A cancel ends the run through `decide`; anything else ends the loop. */
  #afterAbort(reason: unknown): void {
    if (reason instanceof QuaestorError && reason.code === 'RUN_CANCELLED') this.cancelRequested = true;
    else throw reason;
  }

  async #settleEarly({ settled }: ExecutedCall): Promise<void> {
    if (settled.alreadySettled && settled.events.length === 0 && !settled.charge) return;
    const closed = await this.deps.journal.closeTurn(this.claimed.fence, { settled: [settled], close: null, nextReservation: null });
    this.cancelRequested ||= closed.cancelRequested;
    this.#keepFirst(closed.results);
  }

  /** Another process may have settled a call first: its result is the canonical one. */
  #keepFirst(results: Map<ToolCallId, ToolResult>): void {
    for (const call of this.calls) {
      const stored = results.get(call.toolCallId);
      if (stored && JSON.stringify(stored) !== JSON.stringify(call.result)) {
        call.result = stored;
        this.#rendered.delete(call.toolCallId);
      }
    }
  }

  async #closeTurn(last: ExecutedCall[]): Promise<void> {
    const texts = await this.#renderAll();
    const closed = await this.deps.journal.closeTurn(this.claimed.fence, {
      settled: last.map(({ settled }) => settled),
      close: { toolCallIds: this.calls.map((call) => call.toolCallId) },
      nextReservation: this.turn >= this.claimed.loaded.run.turnsMax ? null : this.newReservation(this.turn + 1, 1, texts),
    });
    this.#keepFirst(closed.results);
    for (const [position, text] of (await this.#renderAll()).entries()) {
      const call = this.calls[position];
      if (!call?.result) continue;
      this.conversation.append(toolMessage(call, call.result, text));
      this.#account(call.name, call.result);
    }
    this.calls = [];
    this.#rendered.clear();
    this.reservation = closed.nextReservation;
    this.budgetRefused = closed.nextReservation === null && this.turn < this.claimed.loaded.run.turnsMax;
    this.attemptsBegun = 0;
    this.overrun = closed.ledger.overrun > 0;
    this.cancelRequested ||= closed.cancelRequested;
    if (closed.sourceCapReached && !this.limitsHit.includes('source_cap') && this.claimed.loaded.run.role === 'supervisor') this.limitsHit.push('source_cap');
  }

  /** What the run's ending tells: promoted findings and failed delegations. */
  #account(name: string, result: ToolResult): void {
    const effect = this.specs.find((spec) => spec.name === name)?.effect;
    if (effect === 'scratchpad-write' && result.kind !== 'error') this.#findings++;
    if (effect === 'delegate' && result.kind === 'error') this.#failures.push(`A worker's task failed: ${result.message}`);
  }

  #renderAll(): Promise<string[]> {
    return Promise.all(
      this.calls.map(async (call) => {
        const known = this.#rendered.get(call.toolCallId);
        if (known !== undefined) return known;
        if (!call.result) throw new QuaestorError('JOURNAL_INVALID', `Tool call ${call.toolCallId} has no result although its turn is over.`);
        return renderForModel(call.result, this.claimed.loaded, this.deps.ports);
      }),
    );
  }

  /** What the next model call may cost at most: its prompt as estimated, and a full answer. */
  newReservation(turn: number, attempt: number, coming: string[] = []): NewReservation {
    const { run } = this.claimed.loaded;
    const tools = turn < run.turnsMax ? this.definitions : [];
    const tokens = this.conversation.promptTokens(this.deps.promptTokensMax, tools, coming);
    return {
      id: mintId('res', this.deps.randomBytes()),
      effectKey: `model:${run.id}:${turn}:${attempt}`,
      operation: 'model',
      estimate: modelCost(this.deps.price, tokens, this.deps.maxOutputTokens),
    };
  }

  async #park(): Promise<AgentExit | null> {
    if (await this.deps.journal.park(this.claimed.fence)) return 'parked';
    const open = this.calls.filter((call) => call.status === 'open');
    const results = await this.deps.journal.results(this.claimed.fence, open.map((call) => call.toolCallId));
    for (const call of open) {
      const result = results.get(call.toolCallId);
      if (!result) continue;
      call.status = 'settled';
      call.result = result;
    }
    return null;
  }

  async #release(): Promise<AgentExit> {
    await this.deps.send(await this.deps.journal.release(this.claimed.fence));
    return 'released';
  }

  /** A worker stops with an error result; a root run still writes its report from what exists, within the finishing allowance. */
  async #stop(reason: StopReason): Promise<AgentExit> {
    const { run } = this.claimed.loaded;
    const canFinish = run.role === 'supervisor' && reason !== 'cancelled' && this.finishReservation !== null;
    return canFinish ? takeTurn(this, this.turn + 1, false, reason).then((exit) => exit ?? this.end(null, reason, null, null)) : this.end(null, reason, null, null);
  }

  #facts(): EndingFacts {
    return { run: this.claimed.loaded.run, limitsHit: this.limitsHit, failures: this.#failures, findings: this.#findings };
  }

  /** Ends the run, with its last settlement in the same commit. */
  async end(settlement: TurnSettlement | null, reason: StopReason, text: string | null, error: QuaestorError | null): Promise<AgentExit> {
    const { run } = this.claimed.loaded;
    const ending: RunEnding = run.role === 'supervisor' ? await rootEnding(this.deps, this.#facts(), reason, text, error) : workerEnding(this.#facts(), reason, text, error);
    const ended = await this.deps.journal.endRun(this.claimed.fence, settlement, ending);
    await this.deps.send(ended.jobs);
    return 'ended';
  }
}

/** Claims a run and drives it until it ends, parks or is handed over. Null when there was nothing to do. Safe to call for any id, at any time. */
export async function runAgent(deps: AgentDependencies, runId: RunId, hold: (claimed: ClaimedRun) => RunSignals): Promise<AgentExit | null> {
  const claimed = await deps.journal.claim(runId, (loaded: LoadedRun) => firstReservations(deps, loaded));
  if (!claimed) return null;
  return new AgentRun(deps, claimed, hold(claimed)).go();
}
