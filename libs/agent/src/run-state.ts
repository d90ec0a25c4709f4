import type { AttemptId, ErrorCode, LimitHit, ModelMessage, ModelToolDefinition, ToolCallId, ToolResult } from '#contracts';
import {
  correction,
  mintId,
  modelCost,
  modelRoleOf,
  modelEffect,
  offeredTools,
  offersTools,
  toolDefinitions,
  vendorOf,
  withHostPolicy,
  type ClaimedRun,
  type EventAuthor,
  type LoopState,
  type CountedPrompt,
  type ModelChoice,
  type ModelRole,
  type NewReservation,
  type OpenReservation,
  type RepeatedCalls,
  type ToolCaller,
  type ToolPorts,
  type ToolSpec,
} from '#domain';
import { cutAnswerOf, type Conversation } from './conversation.ts';
import type { AgentDependencies, RunSignals } from './dependencies.ts';
import type { EndingFacts } from './ending.ts';
import type { PlanContext } from './new-calls.ts';
import { rememberCalls } from './resume-calls.ts';
import type { CallInProgress } from './tool-execution.ts';

const modelNameOf = ({ model, modelName }: ModelChoice): string => vendorOf(model, modelName);

/** A run in the hands of this process: what was loaded with the claim, and what has happened to it since. */
export class RunState {
  readonly deps: AgentDependencies;
  readonly signals: RunSignals;
  readonly claimed: ClaimedRun;
  readonly specs: ToolSpec[];
  readonly definitions: ModelToolDefinition[];
  readonly author: EventAuthor;
  readonly repeats: RepeatedCalls;
  readonly conversation: Conversation;
  /** Calls of the newest turn that have no tool message yet. */
  calls: CallInProgress[];
  turn: number;
  /** Attempts begun in the turn after `turn`. */
  attemptsBegun: number;
  /** Those of them that failed, in this process or in one before it. */
  attemptsFailed: number;
  /** Held for the next model call. */
  reservation: OpenReservation | null;
  finishReservation: OpenReservation | null;
  budgetRefused: boolean;
  overrun: boolean;
  cancelRequested: boolean;
  limitsHit: LimitHit[];
  /** Text of an answer that was cut at the length limit, waiting for its continuation. */
  truncatedText: string;
  /** Turns before whose model calls pages were folded. */
  folds: readonly number[];
  /** The newest prompt that the provider has counted. */
  counted: CountedPrompt | null;
  /** Estimated tokens of the smallest prompt that was too long for the model. */
  overflowTokens: number | null;
  readonly #deadlineAtMs: number;
  /** Models that were given up, with the failure for which. */
  readonly #givenUp = new Map<string, ErrorCode>();
  /** One sentence for each delegation that failed. */
  readonly #failures: string[] = [];
  /** The turn before which old groups were last summarised here: once, also where the summary itself is too long. */
  #summarisedTurn: number | null = null;
  /** Findings this run has promoted. */
  #findings = 0;

  constructor(deps: AgentDependencies, claimed: ClaimedRun, signals: RunSignals, conversation: Conversation, callsOf: (specs: ToolSpec[], ports: ToolPorts) => CallInProgress[]) {
    const { loaded } = claimed;
    const { run, assistant, ledger } = loaded;
    this.deps = run.hostPolicy === null ? deps : { ...deps, ports: withHostPolicy(deps.ports, run.hostPolicy) };
    this.signals = signals;
    this.claimed = claimed;
    this.conversation = conversation;
    this.specs = offeredTools(deps.tools, assistant.capabilities, run.role);
    this.definitions = toolDefinitions(this.specs);
    this.author = { role: run.role, assistantId: run.assistantId, worker: run.workerNumber };
    this.calls = callsOf(this.specs, this.deps.ports);
    this.repeats = rememberCalls(loaded, this.specs, this.deps.ports);
    this.turn = run.turn;
    this.attemptsBegun = loaded.attemptsBegun;
    this.attemptsFailed = loaded.attemptsFailed;
    this.reservation = claimed.reservations.find(({ operation }) => operation === 'model') ?? null;
    this.finishReservation = claimed.reservations.find(({ operation }) => operation === 'finish') ?? loaded.finishReservation;
    // a stopped run that cannot pay its finishing call a second time has stopped for another reason
    this.budgetRefused = claimed.refused.length > 0 && loaded.finishesBegun === 0;
    this.overrun = ledger.overrun > 0;
    this.cancelRequested = run.cancelRequested;
    this.limitsHit = [...run.limitsHit];
    this.truncatedText = cutAnswerOf(loaded);
    this.folds = loaded.prompts.folds;
    this.counted = loaded.prompts.counted;
    this.overflowTokens = loaded.prompts.overflowTokens;
    this.#deadlineAtMs = deps.nowMs() + run.msLeft;
    for (const call of loaded.calls) if (call.closed && call.result && !call.inherited) this.account(call.name, call.result);
  }

  get msLeft(): number {
    return this.#deadlineAtMs - this.deps.nowMs();
  }

  /** Everything the next decision depends on. */
  forDecision(): LoopState {
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
      loopDetected: this.repeats.isLoop,
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
      hostPolicy: run.hostPolicy,
    };
  };

  planContext(attemptId: AttemptId, turn: number): Omit<PlanContext, 'offered'> {
    const { deps, callerOf, author, repeats } = this;
    return { deps, attemptId, turn, callerOf, author, repeats };
  }

  /** The model that a role uses now. */
  choiceOf(role: ModelRole): ModelChoice {
    return this.#usable(role)[0] ?? this.deps.models[role][0];
  }

  hasFallback(role: ModelRole): boolean {
    return this.#usable(role).length > 1;
  }

  /** Gives the role's model up for the rest of this claim, for the failure with this code, and for every other role that has it too. */
  fallBack(role: ModelRole, code: ErrorCode): void {
    this.#givenUp.set(modelNameOf(this.choiceOf(role)), code);
    this.attemptsFailed = 0;
  }

  /** Why the role does not use the model before this one; null when it uses its first. */
  fallbackReason(role: ModelRole): ErrorCode | null {
    const choices = this.deps.models[role];
    const before = choices[choices.indexOf(this.choiceOf(role)) - 1];
    return (before && this.#givenUp.get(modelNameOf(before))) ?? null;
  }

  #usable(role: ModelRole): ModelChoice[] {
    return this.deps.models[role].filter((choice) => !this.#givenUp.has(modelNameOf(choice)));
  }

  /** Tokens the next prompt may take, by our own estimate. */
  get promptTokensMax(): number {
    return this.deps.prompts.tokensMax(this);
  }

  /**
   * Folds older pages before the model call of this turn, and leaves old groups out, when they take too much. Changes nothing when it is
   * asked again. Gives the messages that are left out from now on, where they are to be summarised.
   */
  fitPrompt(turn: number): ModelMessage[] {
    this.#foldIfDue(turn);
    const leftOut = this.conversation.cutAt(this.deps.prompts.cutOf(this.conversation.cutView(this.promptTokensMax)));
    if (leftOut.length === 0 || this.#summarisedTurn === turn || !this.deps.prompts.summarises()) return [];
    this.#summarisedTurn = turn;
    return leftOut;
  }

  #foldIfDue(turn: number): void {
    const { conversation } = this;
    if (!conversation.canFold) return;
    const { rawPageChars, tokens } = conversation;
    if (!this.deps.prompts.isFoldDue({ turn, rawPageChars, tokens, tokensMax: this.promptTokensMax })) return;
    conversation.foldPages();
    if (!this.folds.includes(turn)) this.folds = [...this.folds, turn];
  }

  /** After a prompt of so many tokens was too long: true when the next one is shorter, which happens once in a run. */
  shrinkAfter(promptTokens: number): boolean {
    if (this.overflowTokens !== null) return false;
    this.overflowTokens = promptTokens;
    return this.conversation.canShrink(this.promptTokensMax);
  }

  /** What the next model call may cost at most: its prompt as estimated, with the texts still to come, and a full answer. */
  newReservation(turn: number, attempt: number, coming: string[] = []): NewReservation {
    const { run } = this.claimed.loaded;
    const offers = offersTools(turn, run.turnsMax);
    const tools = offers ? this.definitions : [];
    const { price, maxOutputTokens } = this.choiceOf(modelRoleOf(run.role, offers, false));
    const estimated = this.conversation.promptTokens(this.promptTokensMax, tools, coming);
    const tokens = Math.ceil(estimated * Math.max(1, correction(this.counted)));
    return {
      id: mintId('res', this.deps.randomBytes()),
      effectKey: modelEffect(run.id, { turn, attempt }),
      operation: 'model',
      estimate: modelCost(price, tokens, maxOutputTokens),
    };
  }

  /** The newest turn is `turn` now; the next one has no attempts yet. */
  beginTurnAfter(turn: number): void {
    this.turn = turn;
    this.attemptsBegun = 0;
    this.attemptsFailed = 0;
  }

  /** Keeps what the run's ending tells: promoted findings and failed delegations. */
  account(name: string, result: ToolResult): void {
    const effect = this.specs.find((spec) => spec.name === name)?.effect;
    if (effect === 'scratchpad-write' && result.kind !== 'error') this.#findings++;
    if (effect === 'delegate' && result.kind === 'error') this.#failures.push(`A worker's task failed: ${result.message}`);
  }

  facts(): EndingFacts {
    return { run: this.claimed.loaded.run, limitsHit: this.limitsHit, failures: this.#failures, findings: this.#findings };
  }
}
