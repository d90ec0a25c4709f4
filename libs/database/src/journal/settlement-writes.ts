import {
  DELEGATIONS_PER_RUN_MAX,
  toolCallJobId,
  type ErrorCode,
  type ErrorResult,
  type ToolCallStatus,
  type ToolResult,
} from '#contracts';
import { limitOfRefusal, RENDERER_VERSION, type Fence, type NewCall, type NewWorkerRun, type OpenReservation, type SettledTurn, type TurnSettlement } from '#domain';
import { planted } from '#planted';
import type { Statement } from '../sql.ts';
import { statusOf } from './close-turn.ts';
import type { Locked } from './fence.ts';
import { joinLimits, type RootWrites, type Writes } from './writes.ts';

/** The way that reads first: needed where a decision depends on rows, as for delegations, limits and refusals. */
export interface CarefulWay {
  writes: RootWrites;
  locked: Locked;
}

/** True when no decision of this settlement depends on rows, as long as money and the source cap allow it. */
export const canBeQuick = (settlement: TurnSettlement): boolean => settlement.limitsHit.length === 0 && settlement.calls.every((call) => call.delegation === null);

interface PlannedCall {
  call: NewCall;
  status: ToolCallStatus;
  result: ToolResult | null;
  reservation: OpenReservation | null;
  workerNumber: number | null;
  sendNow: boolean;
}

/**
 * The writes of one settled attempt: the attempt with its stream, the assistant message, its calls with their reservations, the worker
 * runs of its delegations and the jobs for them. All or nothing, in the caller's transaction.
 */
export function writeSettlement(writes: Writes, fence: Fence, settlement: TurnSettlement, careful: CarefulWay | null): Omit<SettledTurn, 'cancelRequested' | 'jobs' | 'ledger'> {
  const { attempt, message } = settlement;
  if (settlement.charge) writes.charge(settlement.charge);
  writes.add(attemptInsert(fence, settlement));
  const planned = settlement.calls.map((call) => planCall(writes, careful, call));
  const limits = [...settlement.limitsHit, ...planned.flatMap(({ result }) => limitOfRefusal(result))];
  if (message) {
    writes.setTurn(attempt.turn);
    writes.add({
      sql: `INSERT INTO messages (tenant_id, thread_id, run_id, role, content, reasoning, reasoning_field, vendor, replay, attempt_id, created_at)
        SELECT r.tenant_id, r.thread_id, r.id, 'assistant', ?, ?, ?, ?, ?, ?, NOW(3) FROM runs r WHERE r.id = ?`,
      values: [message.content, message.reasoning?.text ?? null, message.reasoning?.field ?? null, message.vendor, message.replay === undefined ? null : JSON.stringify(message.replay), attempt.id, fence.runId],
    });
  }
  if (limits.length > 0 && careful) {
    writes.add({ sql: 'UPDATE runs SET limits_hit = ? WHERE id = ?', values: [joinLimits(careful.locked.run.limitsHit, limits), fence.runId] });
  }
  if (planned.length > 0) writes.add(callInsert(fence, attempt.id, attempt.turn, planned));
  writes.add(...workerRuns(fence, planned));
  for (const { call, sendNow, result } of planned) {
    if (!result && sendNow) writes.job({ queue: call.delegation ? 'delegations' : 'scratchpad', jobId: toolCallJobId(call.toolCallId, 1), payload: { toolCallId: call.toolCallId } });
  }
  writes.event(...settlement.events, ...planned.flatMap(({ call, result, workerNumber }) => startedEvents(call, result, workerNumber)));
  return {
    calls: planned.map(({ call, status, result, reservation }) => ({ toolCallId: call.toolCallId, status, result, reservation })),
    limitsHit: limits,
  };
}

function attemptInsert(fence: Fence, { attempt, charge }: TurnSettlement): Statement {
  const { usage } = attempt;
  return {
    sql: `INSERT INTO attempts (id, tenant_id, run_id, root_run_id, turn, attempt, kind, outcome, provider, model, renderer_version, stream,
      input_tokens, output_tokens, cache_read_tokens, reasoning_tokens, usage_estimated, error_code, error_message, prompt_sha256, prompt_tokens_max, page_chars, prompt_tokens, prompt_folds, prompt_cut, summary, finishing, fallback_reason, started_at, settled_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NOW(3))`,
    values: [
      attempt.id, fence.tenantId, fence.runId, fence.rootRunId, attempt.turn, attempt.attempt, attempt.kind, attempt.outcome,
      attempt.provider, attempt.model, RENDERER_VERSION, attempt.stream === null ? null : Buffer.from(attempt.stream),
      usage.inputTokens, usage.outputTokens, usage.cacheReadTokens ?? 0, usage.reasoningTokens ?? 0, usage.estimated === true,
      attempt.error?.code ?? null, attempt.error?.message ?? null, attempt.prompt.sha256, attempt.prompt.tokensMax, attempt.prompt.pageChars,
      attempt.prompt.tokens, attempt.prompt.folds.join(',') || null, attempt.prompt.cut, attempt.summary, charge?.reservation.operation === 'finish', attempt.fallbackReason, new Date(attempt.startedAtMs),
    ],
  };
}

const refuse = (code: ErrorCode, message: string): ErrorResult => ({ kind: 'error', code, message });

function planCall(writes: Writes, careful: CarefulWay | null, call: NewCall): PlannedCall {
  const base = { call, reservation: null, workerNumber: null, sendNow: false };
  if (call.refusal) return { ...base, status: 'failed', result: call.refusal };
  if (call.recorded) return { ...base, status: statusOf(call.recorded), result: call.recorded };
  if (call.delegation) return planDelegation(careful, call);
  if (call.reservation?.operation === 'read' && writes.sourceCapReached) {
    return { ...base, status: 'refused', result: refuse('SOURCE_CAP_REACHED', 'This run has read as many sources as it may: use what has been read.') };
  }
  if (!call.reservation) return { ...base, status: 'open', result: null, sendNow: call.scratchpadJob };
  const reservation = writes.reserve(call.reservation);
  if (!reservation) return { ...base, status: 'refused', result: refuse('BUDGET_EXHAUSTED', 'The budget of this run does not cover this call: work with what you have.') };
  return { ...base, status: 'open', result: null, reservation };
}

function planDelegation(careful: CarefulWay | null, call: NewCall): PlannedCall {
  if (!careful) throw new Error('a delegation needs the rows of its root run');
  const { writes, locked } = careful;
  const base = { call, reservation: null, workerNumber: null, sendNow: false };
  if (locked.root.cancelRequested) return { ...base, status: 'refused', result: refuse('RUN_CANCELLED', 'The run was cancelled before this task began.') };
  if (writes.delegations >= DELEGATIONS_PER_RUN_MAX) {
    return { ...base, status: 'refused', result: refuse('DELEGATION_LIMIT_REACHED', `This run has made its ${DELEGATIONS_PER_RUN_MAX} delegations: answer from the findings you have.`) };
  }
  // later delegations of a turn queue behind the ones that fill the run's worker slots
  const ofThisTurn = writes.delegations - locked.root.delegations;
  return { ...base, status: 'open', result: null, workerNumber: writes.countDelegation(), sendNow: ofThisTurn < locked.root.workersMax };
}

function callInsert(fence: Fence, attemptId: string, turn: number, planned: PlannedCall[]): Statement {
  const columns = 20;
  const place = `(${Array.from({ length: columns - 3 }, () => '?').join(', ')}, IF(?, NOW(3), NULL), NOW(3), IF(?, NOW(3), NULL))`;
  return {
    sql: `INSERT INTO tool_calls (id, tenant_id, run_id, root_run_id, attempt_id, turn, call_index, provider_call_id, name, arguments, effect,
      status, delivery, result, error_code, reservation_id, child_run_id, sent_at, created_at, settled_at) VALUES ${planned.map(() => place).join(', ')}`,
    values: planned.flatMap(({ call, status, result, reservation, sendNow }) => [
      call.toolCallId, fence.tenantId, fence.runId, fence.rootRunId, attemptId, turn, call.callIndex, call.providerCallId, call.name,
      call.arguments, call.effect, status, sendNow ? 1 : 0, result && JSON.stringify(result), result?.kind === 'error' ? result.code : null,
      reservation?.id ?? null, result ? null : (call.delegation?.runId ?? null), sendNow, result !== null,
    ]),
  };
}

/** The worker runs of a turn's delegations: thread, run and task of each, in three statements and one more per run. */
function workerRuns(fence: Fence, planned: PlannedCall[]): Statement[] {
  const delegated = planned.flatMap(({ call, workerNumber }) => (call.delegation && workerNumber !== null ? [{ call, delegation: call.delegation, workerNumber }] : []));
  if (delegated.length === 0) return [];
  return [
    {
      sql: `INSERT INTO threads (id, tenant_id, created_at) VALUES ${delegated.map(() => '(?, ?, NOW(3))').join(', ')}`,
      values: delegated.flatMap(({ delegation }) => [delegation.threadId, fence.tenantId]),
    },
    ...delegated.map(({ call, delegation, workerNumber }) => workerRunInsert(fence, call, delegation, workerNumber)),
    {
      sql: `INSERT INTO messages (tenant_id, thread_id, run_id, role, content, created_at) VALUES ${delegated.map(() => "(?, ?, ?, 'user', ?, NOW(3))").join(', ')}`,
      values: delegated.flatMap(({ delegation }) => [fence.tenantId, delegation.threadId, delegation.runId, delegation.prompt]),
    },
  ];
}

// a planted bug gives the worker a scratchpad of its own, which the acceptance run must notice
const scratchpadColumn = (): string => (planted('swap-thread-ids') ? 'w.thread_id' : 'r.scratchpad_thread_id');

const workerRunInsert = (fence: Fence, call: NewCall, delegation: NewWorkerRun, workerNumber: number): Statement => ({
  sql: `INSERT INTO runs (id, tenant_id, thread_id, root_run_id, parent_run_id, parent_tool_call_id, scratchpad_thread_id, assistant_id,
    role, worker_number, question, status, turns_max, workers_max, source_cap, active_thread_id, deadline_at, created_at, sent_at)
    SELECT ?, r.tenant_id, w.thread_id, r.id, ?, ?, ${scratchpadColumn()}, a.id, 'worker', ?, ?, 'queued', a.turns_max, r.workers_max,
    r.source_cap, w.thread_id, r.deadline_at, NOW(3), NOW(3)
    FROM runs r JOIN assistants a ON a.tenant_id = r.tenant_id AND a.name = 'worker' JOIN (SELECT ? AS thread_id) w WHERE r.id = ?`,
  values: [delegation.runId, fence.runId, call.toolCallId, workerNumber, delegation.task, delegation.threadId, fence.rootRunId],
});

function startedEvents(call: NewCall, result: ToolResult | null, workerNumber: number | null): NewCall['startedEvents'] {
  if (result) return [];
  return workerNumber === null ? call.startedEvents : call.startedEvents.map((event) => (event.type === 'research_status' ? { ...event, worker: workerNumber } : event));
}
