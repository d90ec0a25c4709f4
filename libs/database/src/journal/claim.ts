import { attemptPosition, isBlamed, mintId, promptHistoryOf, type AssistantRecord, type AttemptPosition, type CallRecord, type ClaimedRun, type Fence, type LoadedRun, type MessageRecord, type NewReservation, type OpenReservation, type PastPrompt, type RunRecord } from '#domain';
import {
  Capability,
  HostPolicy,
  QuaestorError,
  ToolResult,
  type AssistantRole,
  type AttemptId,
  type Operation,
  type ReservationId,
  type RunId,
  type ToolCallId,
  type ToolCallStatus,
} from '#contracts';
import { planted } from '#planted';
import { affectedBy, rowsOf, type Outcome, type Row, type Sql, type Statement, type Transaction } from '../sql.ts';
import { replaced } from '../incarnation.ts';
import { CHAIN } from '../repositories/chain.ts';
import { hasLapsed, INCARNATION, lockStatement, readLocked, ROOT_IS_OVER } from './fence.ts';
import { limitsOf, RootWrites } from './writes.ts';

export interface ClaimOptions {
  owner: string;
  /** The database's, which the queues of this process are named after: in any other nothing is claimed. Default: whatever the database has. */
  incarnation?: string;
  leaseTtlMs: number;
  randomBytes: () => Uint8Array;
}

const [HOLDER, TAKEN, RUN, MESSAGES, CALLS, RESERVATIONS, PROMPTS] = [0, 1, 2, 3, 4, 5, 6] as const;

function claimStatements(runId: RunId, options: ClaimOptions): Statement[] {
  return [
    { sql: `SELECT status, lease_owner, ${INCARNATION} AS incarnation FROM runs WHERE id = ? FOR UPDATE`, values: [runId] },
    {
      sql: `UPDATE runs SET status = 'running', lease_owner = ?, lease_epoch = lease_epoch + 1,
        lease_expires_at = NOW(3) + INTERVAL ? MICROSECOND WHERE id = ? AND (status = 'queued'
        OR (status = 'waiting' AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.run_id = runs.id AND c.turn = runs.turn AND c.status = 'open'))
        OR (${hasLapsed('runs')}))`,
      values: [options.owner, options.leaseTtlMs * 1000, runId],
    },
    {
      sql: `SELECT r.*, ${ROOT_IS_OVER} AS cancelled, a.instructions, a.capabilities, root.host_policy AS tree_host_policy, root.resumed_from AS tree_resumed_from,
        TIMESTAMPDIFF(MICROSECOND, NOW(3), root.deadline_at) DIV 1000 AS ms_left,
        (SELECT COUNT(*) FROM attempts t WHERE t.run_id = r.id AND t.turn = r.turn + 1 AND t.kind <> 'summary' AND t.outcome IN ('failed', 'filtered', 'empty')) AS attempts_failed
        FROM runs r JOIN runs root ON root.id = r.root_run_id JOIN assistants a ON a.id = r.assistant_id WHERE r.id = ?`,
      values: [runId],
    },
    {
      sql: `SELECT m.role, m.content, m.reasoning, m.reasoning_field, m.vendor, m.replay, m.attempt_id, m.tool_call_id, a.outcome = 'truncated' AS truncated FROM messages m
        JOIN runs r ON r.thread_id = m.thread_id LEFT JOIN attempts a ON a.id = m.attempt_id WHERE r.id = ? ORDER BY m.sequence_no`,
      values: [runId],
    },
    {
      sql: `SELECT c.id, c.attempt_id, c.turn, c.call_index, c.provider_call_id, c.name, c.arguments, c.effect, c.status, c.deaths, c.result,
        v.id AS reservation_id, v.operation, v.estimate_microcredits, m.tool_call_id IS NOT NULL AS closed
        FROM tool_calls c LEFT JOIN reservations v ON v.id = c.reservation_id AND v.state = 'open'
        LEFT JOIN messages m ON m.tool_call_id = c.id WHERE c.run_id = ? ORDER BY c.turn, c.call_index`,
      values: [runId],
    },
    {
      sql: `SELECT id, operation, effect_key, estimate_microcredits, state FROM reservations WHERE run_id = ? AND operation IN ('model', 'finish')`,
      values: [runId],
    },
    {
      sql: `SELECT prompt_tokens, prompt_folds, prompt_cut, kind, summary, input_tokens, usage_estimated, error_code, finishing FROM attempts
        WHERE run_id = ? AND prompt_tokens IS NOT NULL ORDER BY turn, attempt`,
      values: [runId],
    },
  ];
}

/**
 * See `RunJournal.claim`. One transaction: lease, load, losses of the previous holder, first reservations. A claim that nobody heard of is not
 * made again, which would find the run held: the caller gives up whatever was taken.
 */
export async function claimRun(
  sql: Sql,
  options: ClaimOptions,
  runId: RunId,
  reserveFirst: (loaded: LoadedRun) => NewReservation[],
): Promise<ClaimedRun | null> {
  const claim = async (tx: Transaction, opened: Outcome[]): Promise<ClaimedRun | null> => {
    if (affectedBy(opened, TAKEN) === 0) return null;
    const holder = rowsOf(opened, HOLDER)[0];
    if (options.incarnation !== undefined && holder?.incarnation !== options.incarnation) throw replaced(options.incarnation, String(holder?.incarnation));
    const runRow = rowsOf(opened, RUN)[0];
    if (!runRow) throw new QuaestorError('JOURNAL_INVALID', `Run ${runId} has no assistant.`);
    // the root row is locked only now: run before root run, as everywhere
    const locked = readLocked(runId, await tx.batch([lockStatement(runId)]));
    const reservations = readReservations(rowsOf(opened, RESERVATIONS));
    const inherited = runRow.tree_resumed_from === null ? [] : await tx.rows(inheritedCalls(runRow.role as AssistantRole), [runRow.root_run_id as string, runRow.root_run_id as string]);
    const loaded = readLoaded(runRow, opened, inherited, locked.root.ledger, reservations);
    const fence: Fence = { tenantId: loaded.run.tenantId, runId, rootRunId: loaded.run.rootRunId, leaseEpoch: loaded.run.leaseEpoch, incarnation: holder?.incarnation as string };
    const writes = new RootWrites(fence, locked.root);
    if (!runRow.started_at) {
      writes.add({ sql: 'UPDATE runs SET started_at = NOW(3) WHERE id = ?', values: [runId] });
    }
    if (loaded.run.role === 'supervisor') writes.event({ type: 'run_status', status: 'running' });
    settleLost(writes, loaded.run, reservations, options);
    if (hasDied(holder)) countDeaths(writes, loaded);
    const granted: OpenReservation[] = [];
    const refused: Operation[] = [];
    for (const wanted of loaded.run.cancelRequested ? [] : reserveFirst(loaded)) {
      const reservation = writes.reserve(wanted);
      if (reservation) granted.push(reservation);
      else refused.push(wanted.operation);
    }
    await tx.batchAndCommit(writes.statements());
    return { loaded: { ...loaded, ledger: writes.ledger }, fence, reservations: granted, refused };
  };
  return sql.transaction(claimStatements(runId, options), claim, { unheard: 'throw' });
}

/** What the runs before a successor have called: all of the supervisor's, whose thread it goes on with; for a worker the searches that were paid for. */
const inheritedCalls = (role: AssistantRole): string =>
  `${CHAIN} SELECT c.id, c.attempt_id, c.turn, c.call_index, c.provider_call_id, c.name, c.arguments, c.effect, c.status, c.deaths, c.result,
    NULL AS reservation_id, 1 AS closed FROM chain JOIN tool_calls c ON c.root_run_id = chain.id
    WHERE chain.id <> ? AND ${role === 'supervisor' ? 'c.run_id = c.root_run_id' : `c.status = 'succeeded' AND c.name = 'perform_web_search'`} ORDER BY c.created_at, c.turn, c.call_index`;

/** A holder that let go of its run, in a drain or after a failure of the stores, named nobody; one that never came back still stands there. */
const hasDied = (before: Row | undefined): boolean => before?.status === 'running' && before.lease_owner !== null;

/** Also in what was loaded: whoever has claimed the run decides by it how the calls are run. */
function countDeaths(writes: RootWrites, { run, calls }: LoadedRun): void {
  const blamed = calls.filter((call) => isBlamed(call, run.turn));
  if (blamed.length === 0) return;
  for (const call of blamed) call.deaths++;
  writes.add({ sql: 'UPDATE tool_calls SET deaths = deaths + 1 WHERE id IN (?)', values: [blamed.map(({ toolCallId }) => toolCallId)] });
}

export interface StoredReservation extends OpenReservation {
  /** The model call that it pays for, once that may have begun. */
  position: AttemptPosition | null;
  open: boolean;
}

export const readReservations = (rows: Row[]): StoredReservation[] =>
  rows.map((row) => ({
    id: row.id as ReservationId,
    operation: row.operation as Operation,
    estimate: Number(row.estimate_microcredits),
    position: attemptPosition(row.effect_key as string),
    open: row.state === 'open',
  }));

/** What a lost attempt tells of its run. */
export type LostHolder = Pick<RunRecord, 'id' | 'tenantId' | 'rootRunId' | 'role' | 'workerNumber'>;

/** A model call that was open when its process died: marked `lost`, never shown as success, and spent until it is reconciled (Q-06, Q-13). */
export function settleLost(writes: RootWrites, run: LostHolder, reservations: StoredReservation[], options: ClaimOptions): void {
  if (planted('forget-lost-attempts')) return;
  for (const lost of reservations) {
    const { position } = lost;
    if (!lost.open || position === null) continue;
    writes.charge({ reservation: lost, charge: lost.estimate }, 'unknown');
    writes.add({
      sql: `INSERT INTO attempts (id, tenant_id, run_id, root_run_id, turn, attempt, kind, outcome, provider, model, renderer_version,
        usage_estimated, error_code, error_message, started_at, settled_at)
        VALUES (?, ?, ?, ?, ?, ?, 'attempt', 'lost', '', '', 0, 1, 'ATTEMPT_LOST', ?, NOW(3), NOW(3))`,
      values: [
        mintId('att', options.randomBytes()),
        run.tenantId,
        run.id,
        run.rootRunId,
        position.turn,
        position.attempt,
        'The process that made this model call ended before it settled.',
      ],
    });
    writes.event({
      type: 'settlement',
      role: run.role,
      ...(run.workerNumber === null ? {} : { worker: run.workerNumber }),
      turn: position.turn,
      attempt: position.attempt,
      outcome: 'lost',
    });
  }
}

function readLoaded(runRow: Row, opened: Outcome[], inherited: Row[], ledger: LoadedRun['ledger'], reservations: StoredReservation[]): LoadedRun {
  const run = readRun(runRow);
  const assistant: AssistantRecord = {
    id: run.assistantId,
    role: run.role,
    instructions: runRow.instructions as string,
    capabilities: readCapabilities(run.id, runRow.capabilities as string),
  };
  return {
    run,
    assistant,
    messages: rowsOf(opened, MESSAGES).map(readMessage),
    calls: [...inherited.map((row) => ({ ...readCall(row), inherited: true })), ...rowsOf(opened, CALLS).map(readCall)],
    ledger,
    attemptsBegun: reservations.filter(({ position }) => position?.turn === run.turn + 1).length,
    attemptsFailed: Number(runRow.attempts_failed),
    finishesBegun: reservations.filter(({ operation, position }) => operation === 'finish' && position !== null).length,
    prompts: promptHistoryOf(rowsOf(opened, PROMPTS).map(readPastPrompt)),
    finishReservation: reservations.find(({ operation, position, open }) => operation === 'finish' && position === null && open) ?? null,
  };
}

const readPastPrompt = (row: Row): PastPrompt => ({
  finishing: Number(row.finishing) === 1,
  usage: { inputTokens: Number(row.input_tokens), outputTokens: 0, estimated: Number(row.usage_estimated) === 1 },
  errorCode: row.error_code as string | null,
  kind: row.kind as PastPrompt['kind'],
  summary: row.summary as string | null,
  prompt: { tokens: Number(row.prompt_tokens), folds: readFolds(row.prompt_folds as string | null), cut: row.prompt_cut as number | null },
});

/** Turn numbers with commas between them. */
export const readFolds = (stored: string | null): number[] => (stored === null ? [] : stored.split(',').map(Number));

export const readRun = (row: Row): RunRecord => ({
  id: row.id as RunId,
  tenantId: row.tenant_id as RunRecord['tenantId'],
  rootRunId: row.root_run_id as RunId,
  parentToolCallId: row.parent_tool_call_id as ToolCallId | null,
  conversationThreadId: row.thread_id as RunRecord['conversationThreadId'],
  scratchpadThreadId: row.scratchpad_thread_id as RunRecord['scratchpadThreadId'],
  assistantId: row.assistant_id as RunRecord['assistantId'],
  role: row.role as AssistantRole,
  workerNumber: row.worker_number as number | null,
  turn: row.turn as number,
  turnsMax: row.turns_max as number,
  leaseEpoch: row.lease_epoch as number,
  limitsHit: limitsOf(row.limits_hit as string),
  createdAtMs: (row.created_at as Date).getTime(),
  msLeft: Number(row.ms_left),
  cancelRequested: Number(row.cancelled) === 1,
  hostPolicy: readHostPolicy(row.id as string, row.tree_host_policy as string | null),
});

function readHostPolicy(runId: string, stored: string | null): HostPolicy | null {
  if (stored === null) return null;
  try {
    return HostPolicy.parse(JSON.parse(stored));
  } catch (cause) {
    throw new QuaestorError('JOURNAL_INVALID', `The stored hosts of run ${runId} cannot be read.`, { cause });
  }
}

export const readMessage = (row: Row): MessageRecord => ({
  role: row.role as MessageRecord['role'],
  content: row.content as string,
  reasoning: row.reasoning === null ? null : { text: row.reasoning as string, field: row.reasoning_field as 'reasoning' | 'reasoning_content' },
  vendor: row.vendor as string | null,
  replay: row.replay === null ? undefined : (JSON.parse(row.replay as string) as unknown),
  attemptId: row.attempt_id as AttemptId | null,
  toolCallId: row.tool_call_id as ToolCallId | null,
  truncated: Number(row.truncated ?? 0) === 1,
});

export const readCall = (row: Row): CallRecord => ({
  toolCallId: row.id as ToolCallId,
  attemptId: row.attempt_id as AttemptId,
  turn: row.turn as number,
  callIndex: row.call_index as number,
  providerCallId: row.provider_call_id as string | null,
  name: row.name as string,
  arguments: row.arguments as string,
  effect: row.effect as string,
  inherited: false,
  deaths: row.deaths as number,
  status: row.status as ToolCallStatus,
  result: readResult(row.id as string, row.result as string | null),
  reservation:
    row.reservation_id === null
      ? null
      : { id: row.reservation_id as ReservationId, operation: row.operation as Operation, estimate: Number(row.estimate_microcredits) },
  closed: Number(row.closed) === 1,
});

export function readCapabilities(runId: RunId, stored: string): Capability[] {
  try {
    return Capability.array().parse(JSON.parse(stored));
  } catch (cause) {
    throw new QuaestorError('JOURNAL_INVALID', `The stored capabilities of the assistant of run ${runId} cannot be read.`, { cause });
  }
}

/** A stored result, validated on read: a broken row fails its run honestly and is never guessed (Q-36). */
export function readResult(toolCallId: string, stored: string | null): ToolResult | null {
  if (stored === null) return null;
  try {
    return ToolResult.parse(JSON.parse(stored));
  } catch (cause) {
    throw new QuaestorError('JOURNAL_INVALID', `The stored result of tool call ${toolCallId} cannot be read.`, { cause });
  }
}
