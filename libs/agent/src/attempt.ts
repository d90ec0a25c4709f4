import { zstdCompressSync } from 'node:zlib';
import { MODEL_CALL_TIMEOUT_MS, QuaestorError, type AttemptId, type ErrorCode, type ModelMessage, type ModelToolDefinition, type StreamRecord, type Usage } from '#contracts';
import { AssistantStreamAccumulator, BlockAssembler, chooseSettlement, estimateTokens, mintId, usageCost, type AttemptEnding, type AttemptSettlement, type ModelChoice, type ModelPrice, type PromptRecord } from '#domain';
import { crashPoint, planted } from '#planted';
import { bounded } from './bounded.ts';
import type { AgentDependencies } from './dependencies.ts';
import { promptSha256 } from './prompt-hash.ts';

/** A provider that heeds its signal ends within moments of it; one that does not is no reason to keep a run. */
const GIVE_UP_AFTER_MS = 200;

export interface AttemptRequest {
  choice: ModelChoice;
  messages: ModelMessage[];
  tools: ModelToolDefinition[];
  promptTokens: number;
  /** What `promptTokens` were allowed to be. */
  promptTokensMax: number;
  /** The run's own time limit for this call. */
  timeoutMs: number;
  onText?: (kind: 'content' | 'reasoning', text: string) => void;
}

/** One finished try of a model call, whatever became of it. */
export interface AttemptReport {
  id: AttemptId;
  settlement: AttemptSettlement;
  stream: Uint8Array | null;
  usage: Usage;
  /** Microcredits to book for it. */
  charge: number;
  error: QuaestorError | null;
  cancelled: boolean;
  startedAtMs: number;
  prompt: Pick<PromptRecord, 'sha256' | 'tokens' | 'tokensMax'>;
  /** What the vendor wants back with this answer. */
  replay: unknown;
}

/**
 * Makes one model call and reports how it ended; never throws for the call itself. Every chunk is kept with its time. What is charged: the
 * reported usage; nothing when the provider surely took nothing; the whole estimate when nobody knows (an unknown outcome stays spent).
 */
export async function makeAttempt(deps: AgentDependencies, request: AttemptRequest, estimate: number, abort: AbortSignal): Promise<AttemptReport> {
  const startedAtMs = deps.nowMs();
  const accumulator = new AssistantStreamAccumulator();
  const assembler = new BlockAssembler();
  const timeout = AbortSignal.timeout(Math.max(1, Math.min(request.timeoutMs, MODEL_CALL_TIMEOUT_MS)));
  crashPoint('K05');
  const ending = await streamOnce(deps, request, accumulator, assembler, AbortSignal.any([abort, timeout]));
  const { settlement, error, cancelled } = judge(assembler, ending, abort, timeout);
  const records = accumulator.snapshot();
  const usage = assembler.usage ?? estimatedUsage(request.promptTokens, assembler);
  return {
    id: mintId('att', deps.randomBytes()),
    settlement,
    stream: records.length === 0 ? null : encodeStream(records),
    usage,
    charge: chargeOf(request.choice.price, usage, error, settlement, estimate),
    error,
    cancelled,
    startedAtMs,
    prompt: { sha256: promptSha256(request.messages, request.tools), tokens: request.promptTokens, tokensMax: request.promptTokensMax },
    replay: assembler.replayState(),
  };
}

async function streamOnce(
  deps: AgentDependencies,
  request: AttemptRequest,
  accumulator: AssistantStreamAccumulator,
  assembler: BlockAssembler,
  signal: AbortSignal,
): Promise<unknown> {
  const { onText, choice, messages, tools, timeoutMs } = request;
  let isOpen = true;
  try {
    const streamed = choice.model.stream(
      { model: choice.modelName, messages, tools, maxOutputTokens: choice.maxOutputTokens, timeoutMs },
      (chunk) => {
        // a provider that was given up may go on talking
        if (!isOpen) return;
        const kept = accumulator.push(deps.nowMs(), chunk);
        assembler.push(kept);
        if (kept.type === 'text-delta') crashPoint('K08');
        else if (kept.type === 'tool-call-delta') crashPoint('K09');
        if (onText && kept.type === 'text-delta') onText('content', kept.text);
        else if (onText && kept.type === 'reasoning-delta') onText('reasoning', kept.text);
      },
      signal,
    );
    await bounded(streamed, signal, GIVE_UP_AFTER_MS);
    return null;
  } catch (error) {
    return error ?? new Error('the provider rejected without a reason');
  } finally {
    isOpen = false;
  }
}

function judge(assembler: BlockAssembler, thrown: unknown, abort: AbortSignal, timeout: AbortSignal): Pick<AttemptReport, 'settlement' | 'error' | 'cancelled'> {
  const cancelled = abort.aborted;
  const error = thrown === null ? null : asModelError(thrown, timeout.aborted && !cancelled);
  if (error && planted('partial-is-success') && assembler.interruptedBlocks().length > 0) {
    return { settlement: { kind: 'message', outcome: 'completed', blocks: assembler.interruptedBlocks() }, error: null, cancelled: false };
  }
  const ending: AttemptEnding = cancelled ? { kind: 'cancelled' } : error ? { kind: 'failed', code: error.code } : { kind: 'returned' };
  const settlement = chooseSettlement(assembler, ending);
  if (error || settlement.kind === 'message') return { settlement, error, cancelled };
  const code = settlement.code ?? 'MODEL_PROTOCOL_ERROR';
  return { settlement, error: unusableAnswer(code), cancelled };
}

/** The provider did its part, but what came is no answer. */
export const unusableAnswer = (code: ErrorCode): QuaestorError => new QuaestorError(code, `The model's answer cannot be used (${code}).`);

function asModelError(thrown: unknown, timedOut: boolean): QuaestorError {
  if (timedOut && !(thrown instanceof QuaestorError && thrown.details['accepted'] === false)) return new QuaestorError('MODEL_TIMEOUT', 'The model call took longer than the run allows.', { cause: thrown });
  if (thrown instanceof QuaestorError) return thrown;
  return new QuaestorError('INTERNAL_ERROR', 'The model call failed in an unexpected way.', { cause: thrown });
}

function chargeOf(price: ModelPrice, usage: Usage, error: QuaestorError | null, settlement: AttemptSettlement, estimate: number): number {
  if (error?.details['accepted'] === false) return 0;
  if (settlement.kind === 'attempt' && usage.estimated) return estimate;
  return usageCost(price, usage);
}

function estimatedUsage(promptTokens: number, assembler: BlockAssembler): Usage {
  const output = assembler.blocks().reduce((sum, block) => sum + estimateTokens(block.type === 'tool-call' ? block.name + block.arguments : block.text), 0);
  return { inputTokens: promptTokens, outputTokens: output, estimated: true };
}

/** Compact streams are small (20 bytes a token): compressing one takes less time than handing it to another thread. */
const encodeStream = (records: readonly StreamRecord[]): Buffer => zstdCompressSync(JSON.stringify(records));
