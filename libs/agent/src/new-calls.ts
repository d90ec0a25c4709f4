import { deriveToolCallId, delegationPrompt, mintId, callEvents, parseToolCall, truncateChars, operationPrice, type DelegationTask, type EventAuthor, type NewCall, type ToolCaller, type ToolSpec } from '#domain';
import type { AttemptId, ReservationId, StreamBlock } from '#contracts';
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

/** Calls of one answer: parsed once and strictly, priced, and given their ids; a call that cannot be parsed ends with the settlement. */
export function planCalls(
  deps: AgentDependencies,
  attemptId: AttemptId,
  blocks: readonly StreamBlock[],
  offered: readonly ToolSpec[],
  callerOf: (toolCallId: ToolCaller['toolCallId']) => ToolCaller,
  author: EventAuthor,
): Promise<PlannedCall[]> {
  const calls = blocks.filter((block): block is ToolCallBlock => block.type === 'tool-call');
  return Promise.all(calls.map((block, index) => planCall(deps, attemptId, block, index, offered, callerOf, author)));
}

async function planCall(
  deps: AgentDependencies,
  attemptId: AttemptId,
  block: ToolCallBlock,
  callIndex: number,
  offered: readonly ToolSpec[],
  callerOf: (toolCallId: ToolCaller['toolCallId']) => ToolCaller,
  author: EventAuthor,
): Promise<PlannedCall> {
  const toolCallId = deriveToolCallId(attemptId, callIndex);
  const name = truncateChars(block.name, NAME_CHARS_MAX);
  const providerCallId = block.id === '' ? null : block.id;
  const base = { toolCallId, callIndex, providerCallId, name, arguments: block.arguments, delegation: null, reservation: null, scratchpadJob: false, startedEvents: [] };
  const parsed = parseToolCall(offered, block);
  if (!parsed.ok) {
    return {
      row: { ...base, effect: 'none', refusal: parsed.result },
      progress: { toolCallId, providerCallId, name, spec: null, args: null, reservation: null, deaths: 0, status: 'settled', result: parsed.result, rendered: null },
    };
  }
  const { spec, args } = parsed;
  const announcement = spec.announce(args);
  const isFree = spec.price === null || ((await spec.isFree?.(args, callerOf(toolCallId), deps.ports)) ?? false);
  return {
    row: {
      ...base,
      effect: spec.effect,
      refusal: null,
      reservation: isFree || spec.price === null ? null : { id: mintId<ReservationId>('res', deps.randomBytes()), effectKey: `tool:${toolCallId}`, operation: spec.price, estimate: operationPrice(spec.price, deps.readTier) },
      delegation: spec.effect === 'delegate' ? newWorkerRun(deps, args) : null,
      scratchpadJob: spec.effect === 'scratchpad-write',
      startedEvents: callEvents(spec, announcement, author, { phase: 'started' }),
    },
    progress: { toolCallId, providerCallId, name, spec, args, reservation: null, deaths: 0, status: 'open', result: null, rendered: null },
  };
}

function newWorkerRun(deps: AgentDependencies, args: unknown): NonNullable<NewCall['delegation']> {
  const delegation = args as DelegationTask;
  return { runId: mintId('run', deps.randomBytes()), threadId: mintId('thr', deps.randomBytes()), task: delegation.task, prompt: delegationPrompt(delegation) };
}
