import { QuaestorError, type ErrorResult, type ToolCallId, type ToolResult } from '#contracts';
import { callEvents, type EventAuthor, type OpenReservation, type SettledCall, type SettledOutcome, type ToolCaller, type ToolSpec } from '#domain';
import { renderForModel } from './conversation.ts';
import type { AgentDependencies } from './dependencies.ts';

/** A call of the newest turn, from its settlement until its tool message is written. */
export interface CallInProgress {
  toolCallId: ToolCallId;
  providerCallId: string | null;
  name: string;
  /** Null for a call that cannot be executed: refused at once, or stored open by a version whose tool this process does not know. */
  spec: ToolSpec | null;
  args: unknown;
  reservation: OpenReservation | null;
  status: 'open' | 'settled';
  /** Set while the call is still open when it cannot be executed: what it will end with. */
  result: ToolResult | null;
  /** The text a model reads of the result, once it is known. */
  rendered: string | null;
}

export interface ExecutedCall {
  settled: SettledCall;
  rendered: string;
}

/**
 * Executes one open call. A failure becomes an error result with its code; only the run's own end (lease, cancel) is thrown. Search and
 * read stay spent when they fail, and also when they end here unexecuted: a holder before may have sent them.
 */
export async function executeCall(deps: AgentDependencies, call: CallInProgress, caller: ToolCaller, author: EventAuthor, timeoutMs: number, abort: AbortSignal): Promise<ExecutedCall> {
  const { spec } = call;
  const outcome = spec ? await outcomeOf(deps, spec, call, caller, Math.min(spec.timeoutMs, timeoutMs), abort) : unexecuted(call);
  abort.throwIfAborted();
  const rendered = await renderForModel(outcome.result, { run: caller }, deps.ports, outcome.source?.page);
  return {
    rendered,
    settled: {
      toolCallId: call.toolCallId,
      result: outcome.result,
      charge: call.reservation ? { reservation: call.reservation, charge: call.reservation.estimate } : null,
      source: outcome.source ?? null,
      events: [...(spec ? callEvents(spec, spec.announce(call.args), author, { phase: 'settled', result: outcome.result, rendered }) : []), ...(outcome.events ?? [])],
      alreadySettled: outcome.alreadySettled ?? false,
    },
  };
}

async function outcomeOf(deps: AgentDependencies, spec: ToolSpec, call: CallInProgress, caller: ToolCaller, timeoutMs: number, abort: AbortSignal): Promise<SettledOutcome> {
  if (timeoutMs <= 0) return failed({ kind: 'error', code: 'DEADLINE_REACHED', message: 'The deadline of this run was reached before this call began.' });
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([abort, timeout]);
  try {
    const outcome = await bounded(spec.execute(call.args, caller, deps.ports, signal), signal);
    if (outcome.kind === 'deferred') throw new QuaestorError('INTERNAL_ERROR', 'A deferred call cannot be executed here.');
    return outcome;
  } catch (error) {
    abort.throwIfAborted();
    if (timeout.aborted) return failed({ kind: 'error', code: 'TOOL_TIMEOUT', message: `The call took longer than ${Math.round(timeoutMs / 1000)} s and was stopped.` });
    return failed(asErrorResult(error));
  }
}

/** A tool that ignores its signal still ends on time, and with its run. */
function bounded<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function unexecuted({ toolCallId, result }: CallInProgress): SettledOutcome {
  if (!result) throw new Error(`call ${toolCallId} has neither a tool nor a result`);
  return { kind: 'settled', result };
}

const failed = (result: ErrorResult): SettledOutcome => ({ kind: 'settled', result });

function asErrorResult(error: unknown): ErrorResult {
  if (error instanceof QuaestorError) return { kind: 'error', code: error.code, message: error.message };
  return { kind: 'error', code: 'TOOL_FAILED', message: 'The call failed in an unexpected way.' };
}
