import { assertNever, type AttemptId, type ErrorResult, type ReservationId, type StreamBlock } from '#contracts';
import { callIdentity, deriveToolCallId, delegationPrompt, mintId, callEvents, parseToolCall, truncateChars, operationPrice, type DelegationTask, type EventAuthor, type NewCall, type RepeatedCalls, type ToolCaller, type ToolSpec } from '#domain';
import type { AgentDependencies } from './dependencies.ts';
import type { CallInProgress } from './tool-execution.ts';

/** Width of the stored name; no tool of ours comes near it, and what a model invents beyond is not worth an answer that cannot be stored. */
const NAME_CHARS_MAX = 256;

type ToolCallBlock = Extract<StreamBlock, { type: 'tool-call' }>;

/** A call as it will be settled, with what the loop needs to execute it afterwards. */
export interface PlannedCall {
  row: NewCall;
  progress: CallInProgress;
}

/** What the calls of one answer are planned with. */
export interface PlanContext {
  deps: AgentDependencies;
  attemptId: AttemptId;
  turn: number;
  offered: readonly ToolSpec[];
  callerOf: (toolCallId: ToolCaller['toolCallId']) => ToolCaller;
  author: EventAuthor;
  repeats: RepeatedCalls;
}

/**
 * Calls of one answer: parsed once and strictly, held against what the run has called before, priced, and given their ids. A call that
 * cannot be parsed, or that the record answers, ends with the settlement and costs nothing.
 */
export function planCalls(context: PlanContext, blocks: readonly StreamBlock[]): Promise<PlannedCall[]> {
  const calls = blocks.filter((block): block is ToolCallBlock => block.type === 'tool-call');
  return Promise.all(calls.map((block, index) => planCall(context, block, index)));
}

/** Judged before anything is waited for, so that the calls of an answer are counted in their order. */
function planCall(context: PlanContext, block: ToolCallBlock, callIndex: number): Promise<PlannedCall> {
  const { deps, attemptId, turn, offered, repeats } = context;
  const parsed = parseToolCall(offered, block);
  const named = {
    toolCallId: deriveToolCallId(attemptId, callIndex),
    providerCallId: block.id === '' ? null : block.id,
    name: truncateChars(block.name, NAME_CHARS_MAX),
  };
  const base: NewCall = { ...named, callIndex, arguments: block.arguments, effect: 'none', refusal: null, recorded: null, delegation: null, reservation: null, scratchpadJob: false, startedEvents: [] };
  const unread: CallInProgress = { ...named, spec: null, args: null, identity: null, reservation: null, deaths: 0, status: 'settled', result: null, rendered: null };
  if (!parsed.ok) return Promise.resolve({ row: { ...base, refusal: parsed.result }, progress: { ...unread, result: parsed.result } });
  const { spec, args } = parsed;
  const identity = callIdentity(spec, args, deps.ports);
  const verdict = repeats.judge({ identity, turn, spec, args });
  const settled = { ...unread, identity };
  switch (verdict.kind) {
    case 'execute':
      return plannedExecution(context, base, { ...settled, spec, args, status: 'open' });
    case 'answer':
      return Promise.resolve({ row: { ...base, recorded: verdict.result }, progress: { ...settled, result: verdict.result } });
    case 'duplicate':
    case 'warn':
    case 'stop': {
      const refusal: ErrorResult = { kind: 'error', code: 'CALL_REPEATED', message: REPEATED[verdict.kind] };
      return Promise.resolve({ row: { ...base, refusal }, progress: { ...settled, result: refusal } });
    }
    default:
      return assertNever(verdict);
  }
}

const REPEATED = {
  duplicate: 'The same call was made before: its result stands there, and nothing was done or charged again.',
  warn: 'You have made the same call several times, and its result does not change: make another call, or finish. Once more ends the run.',
  stop: 'The same call was made once too often: the run stops here.',
};

async function plannedExecution({ deps, callerOf, author }: PlanContext, base: NewCall, progress: CallInProgress & { spec: ToolSpec }): Promise<PlannedCall> {
  const { spec, args, toolCallId } = progress;
  const announcement = spec.announce(args);
  const isFree = spec.price === null || ((await spec.isFree?.(args, callerOf(toolCallId), deps.ports)) ?? false);
  const row: NewCall = {
    ...base,
    effect: spec.effect,
    reservation: isFree || spec.price === null ? null : { id: mintId<ReservationId>('res', deps.randomBytes()), effectKey: `tool:${toolCallId}`, operation: spec.price, estimate: operationPrice(spec.price, deps.readTier) },
    delegation: spec.effect === 'delegate' ? newWorkerRun(deps, args) : null,
    scratchpadJob: spec.effect === 'scratchpad-write',
    startedEvents: callEvents(spec, announcement, author, { phase: 'started' }),
  };
  return { row, progress };
}

function newWorkerRun(deps: AgentDependencies, args: unknown): NonNullable<NewCall['delegation']> {
  const delegation = args as DelegationTask;
  return { runId: mintId('run', deps.randomBytes()), threadId: mintId('thr', deps.randomBytes()), task: delegation.task, prompt: delegationPrompt(delegation) };
}
