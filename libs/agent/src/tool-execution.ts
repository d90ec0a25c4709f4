import { QuaestorError, type ErrorResult, type ToolCallId, type ToolResult } from '#contracts';
import { callEvents, isStoreFailure, SUSPECT_DEATHS, type EventAuthor, type OpenReservation, type SettledCall, type SettledOutcome, type ToolCaller, type ToolSpec } from '#domain';
import { bounded } from './bounded.ts';
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
  /** What it is a repeat of, if it is made again; null for a call that could not be read. */
  identity: string | null;
  reservation: OpenReservation | null;
  /** Processes that died while it was executing in them. */
  deaths: number;
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
 * Executes one open call. A failure becomes an error result with its code; only the run's own end (lease, cancel) and a failure of the stores
 * are thrown: the call is whole then, and another claim executes it again. Search and read stay spent when they fail, and also when they
 * end here unexecuted: a holder before may have sent them.
 */
export async function executeCall(deps: AgentDependencies, call: CallInProgress, caller: ToolCaller, author: EventAuthor, msLeft: number, abort: AbortSignal): Promise<ExecutedCall> {
  const { spec } = call;
  const outcome = spec ? await outcomeOf(deps, spec, call, caller, msLeft, abort) : unexecuted(call);
  abort.throwIfAborted();
  const { result } = outcome;
  const rendered = await renderForModel(result, { run: caller }, deps.ports, outcome.source?.page);
  return {
    rendered,
    settled: {
      toolCallId: call.toolCallId,
      result,
      charge: call.reservation ? { reservation: call.reservation, charge: call.reservation.estimate } : null,
      source: outcome.source ?? null,
      events: [...(spec ? callEvents(spec, spec.announce(call.args), author, { phase: 'settled', result, rendered }) : []), ...(outcome.events ?? [])],
      alreadySettled: outcome.alreadySettled ?? false,
      killedProcess: result.kind === 'error' && result.code === 'TOOL_KILLED_PROCESS',
    },
  };
}

async function outcomeOf(deps: AgentDependencies, spec: ToolSpec, call: CallInProgress, caller: ToolCaller, msLeft: number, abort: AbortSignal): Promise<SettledOutcome> {
  if (msLeft <= 0) return failed({ kind: 'error', code: 'DEADLINE_REACHED', message: 'The deadline of this run was reached before this call began.' });
  try {
    return await (call.deaths < SUSPECT_DEATHS ? executeHere(deps, spec, call, caller, msLeft, abort) : executeAlone(deps, spec, call, caller, msLeft, abort));
  } catch (error) {
    abort.throwIfAborted();
    if (isStoreFailure(error)) throw error;
    return failed(asErrorResult(error));
  }
}

async function executeHere(deps: AgentDependencies, spec: ToolSpec, call: CallInProgress, caller: ToolCaller, msLeft: number, abort: AbortSignal): Promise<SettledOutcome> {
  const timeoutMs = Math.min(spec.timeoutMs, msLeft);
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([abort, timeout]);
  try {
    const outcome = await bounded(spec.execute(call.args, caller, deps.ports, signal), signal);
    if (outcome.kind === 'deferred') throw new QuaestorError('INTERNAL_ERROR', 'A deferred call cannot be executed here.');
    return outcome;
  } catch (error) {
    throw timeout.aborted ? timedOut(timeoutMs, error) : error;
  }
}

/** The call may wait for its process as long as the run has time; its own limit counts from that process's start. */
async function executeAlone(deps: AgentDependencies, spec: ToolSpec, call: CallInProgress, caller: ToolCaller, msLeft: number, abort: AbortSignal): Promise<SettledOutcome> {
  const deadline = AbortSignal.timeout(msLeft);
  try {
    return await deps.isolation.execute({ tool: spec.name, args: call.args, caller, timeoutMs: spec.timeoutMs }, AbortSignal.any([abort, deadline]));
  } catch (error) {
    throw deadline.aborted ? timedOut(msLeft, error) : error;
  }
}

const timedOut = (timeoutMs: number, cause: unknown): QuaestorError =>
  new QuaestorError('TOOL_TIMEOUT', `The call took longer than ${Math.round(timeoutMs / 1000)} s and was stopped.`, { cause });

function unexecuted({ toolCallId, result }: CallInProgress): SettledOutcome {
  if (!result) throw new Error(`call ${toolCallId} has neither a tool nor a result`);
  return { kind: 'settled', result };
}

const failed = (result: ErrorResult): SettledOutcome => ({ kind: 'settled', result });

function asErrorResult(error: unknown): ErrorResult {
  if (error instanceof QuaestorError) return { kind: 'error', code: error.code, message: error.message };
  return { kind: 'error', code: 'TOOL_FAILED', message: 'The call failed in an unexpected way.' };
}
