import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import type { DataSource } from 'typeorm';
import { MICROCREDITS_PER_CREDIT, type ApiKeyId, type AssistantId, type AttemptId, type ConversationThreadId, type Operation, type ReservationId, type RunId, type ScratchpadThreadId, type SourceId, type StopReason, type TenantId, type ToolCallId, type ToolResult } from '#contracts';
import { STOP_REASONS } from '#contracts';
import { AssistantStreamAccumulator, deriveToolCallId, mintId, type ClaimedRun, type Fence, type NewCall, type NewReservation, type OpenReservation, type RunEnding, type SettledCall, type TurnSettlement } from '#domain';
import { createTestDatabase, type TestDatabase } from '#testing';
import { openDataSource } from '../data-source.ts';
import { ApiKeyRepository } from '../repositories/api-key.repository.ts';
import { RunAcceptanceRepository } from '../repositories/run-acceptance.repository.ts';
import { RunJournalRepository } from '../repositories/run-journal.repository.ts';
import { Sql, type SqlValue } from '../sql.ts';

export const mint = <Id extends string>(prefix: string): Id => mintId<Id>(prefix, randomBytes(17));
export const credits = (count: number): number => count * MICROCREDITS_PER_CREDIT;

export interface RunShape {
  budgetCredits?: number;
  workersMax?: number;
  sourceCap?: number;
  deadlineSeconds?: number;
}

/** A settlement in the making: what a test varies, the rest is ordinary. */
export interface SettlementShape {
  turn: number;
  attempt?: number;
  attemptId?: AttemptId;
  calls?: NewCall[];
  charge?: TurnSettlement['charge'];
  kind?: 'message' | 'attempt';
  /** Made in a commit of its own, right after the settlement; for helpers that settle. */
  nextReservation?: NewReservation;
}

/** A real, empty database with a tenant, its assistants and a journal, for the specs of this library. */
export class JournalWorld {
  readonly database: TestDatabase;
  readonly dataSource: DataSource;
  readonly sql: Sql;
  readonly tenantId: TenantId = mint('ten');
  readonly journal: RunJournalRepository;

  /** On the shared server, unless a database of another is given. */
  static async open(connectionLimit = 12, given?: TestDatabase): Promise<JournalWorld> {
    const database = given ?? (await createTestDatabase());
    const world = new JournalWorld(database, await openDataSource({ url: database.url, connectionLimit }));
    await world.#addTenant();
    return world;
  }

  private constructor(database: TestDatabase, dataSource: DataSource) {
    this.database = database;
    this.dataSource = dataSource;
    this.sql = new Sql(dataSource);
    this.journal = this.journalOf('here');
  }

  /** The journal of another process. */
  journalOf(owner: string, leaseTtlMs = 30_000): RunJournalRepository {
    return new RunJournalRepository(this.sql, { owner, leaseTtlMs, randomBytes: () => randomBytes(17) });
  }

  async close(): Promise<void> {
    await this.dataSource.destroy();
    await this.database.drop();
  }

  #addTenant(): Promise<void> {
    const assistant = (role: 'supervisor' | 'worker') => ({ id: mint<AssistantId>('asst'), role, name: role, instructions: 'Work.', capabilities: [], turnsMax: 8 });
    return new ApiKeyRepository(this.sql).ensureTenant({ id: this.tenantId, name: 'tenant', assistants: [assistant('supervisor'), assistant('worker')], apiKey: { id: mint<ApiKeyId>('key'), sha256: 'a'.repeat(64), shownPrefix: 'qk_' } });
  }

  async newRun(shape: RunShape = {}): Promise<RunId> {
    const runId = mint<RunId>('run');
    await new RunAcceptanceRepository(this.sql).accept({
      tenantId: this.tenantId,
      runId,
      threadId: mint<ConversationThreadId>('thr'),
      question: 'What is a lease?',
      budgetMicrocredits: credits(shape.budgetCredits ?? 100),
      deadlineSeconds: shape.deadlineSeconds ?? 900,
      sourceCap: shape.sourceCap ?? 20,
      workersMax: shape.workersMax ?? 4,
    });
    return runId;
  }

  async claim(runId: RunId, reserve: NewReservation[] = [], journal = this.journal): Promise<ClaimedRun> {
    const claimed = await journal.claim(runId, () => reserve);
    if (!claimed) throw new Error(`run ${runId} could not be claimed`);
    return claimed;
  }

  /** A root run that waits for `workers` delegations of its first turn, and their runs in call order. */
  async waitingRun(workers: number, shape: RunShape = {}): Promise<{ runId: RunId; fence: Fence; calls: ToolCallId[]; workers: RunId[] }> {
    const runId = await this.newRun(shape);
    const attemptId = mint<AttemptId>('att');
    const delegations = Array.from({ length: workers }, (_, index) => delegationCall(attemptId, index));
    const { fence } = await this.settledRun(runId, { turn: 1, attemptId, calls: delegations });
    if (!(await this.journal.park(fence))) throw new Error('the run did not park');
    return { runId, fence, calls: delegations.map((call) => call.toolCallId), workers: delegations.map((call) => call.delegation!.runId) };
  }

  /** Claims a run with a reserved model call and settles its answer. */
  async settledRun(runId: RunId, shape: SettlementShape): Promise<{ fence: Fence; settled: Awaited<ReturnType<RunJournalRepository['settleTurn']>> }> {
    const claimed = await this.claim(runId, [modelReservation(runId, shape.turn, shape.attempt ?? 1)]);
    const settled = await this.journal.settleTurn(claimed.fence, settlement({ charge: { reservation: claimed.reservations[0]!, charge: credits(1) }, ...shape }));
    if (shape.nextReservation) await this.journal.closeTurn(claimed.fence, { settled: [], close: null, nextReservation: shape.nextReservation });
    return { fence: claimed.fence, settled };
  }

  async one<Value = unknown>(sql: string, values: SqlValue[] = []): Promise<Value> {
    const row = (await this.sql.rows(sql, values))[0];
    return (row ? Object.values(row)[0] : undefined) as Value;
  }

  count(table: string, condition = '1 = 1', values: SqlValue[] = []): Promise<number> {
    return this.one<string>(`SELECT COUNT(*) FROM ${table} WHERE ${condition}`, values).then(Number);
  }

  lapse(runId: RunId): Promise<unknown> {
    return this.sql.change('UPDATE runs SET lease_expires_at = NOW(3) - INTERVAL 1 MINUTE, sent_at = NOW(3) - INTERVAL 2 MINUTE WHERE id = ?', [runId]);
  }
}

export const modelReservation = (runId: RunId, turn: number, attempt = 1, estimate = credits(2)): NewReservation => ({ id: mint<ReservationId>('res'), effectKey: `model:${runId}:${turn}:${attempt}`, operation: 'model', estimate });

export const finishReservation = (runId: RunId, estimate = credits(2)): NewReservation => ({ id: mint<ReservationId>('res'), effectKey: `finish:${runId}`, operation: 'finish', estimate });

export function settlement({ turn, attempt = 1, attemptId = mint<AttemptId>('att'), calls = [], charge = null, kind = 'message' }: SettlementShape): TurnSettlement {
  const isMessage = kind === 'message';
  return {
    attempt: {
      id: attemptId, turn, attempt, kind, outcome: isMessage ? 'completed' : 'failed', provider: 'test', model: 'test', fallbackReason: null, stream: isMessage ? streamOf(`answer of turn ${turn}`, calls) : null,
      usage: { inputTokens: 1, outputTokens: 1 }, error: isMessage ? null : { code: 'MODEL_OVERLOADED', message: 'busy' }, startedAtMs: Date.now(),
      prompt: { sha256: '0'.repeat(64), tokensMax: 1_000, pageChars: 8_000, tokens: 100, folds: [], cut: 0 },
      summary: null,
    },
    charge,
    message: isMessage ? { content: `answer of turn ${turn}`, reasoning: null, vendor: 'test:test/test' } : null,
    calls,
    limitsHit: [],
    events: [{ type: 'settlement', role: 'supervisor', turn, attempt, outcome: isMessage ? 'completed' : 'failed' }],
  };
}

/** What a provider would have sent for it. */
function streamOf(text: string, calls: NewCall[]): Buffer {
  const accumulator = new AssistantStreamAccumulator();
  accumulator.push(1, { type: 'text-delta', index: 0, text });
  for (const { callIndex, providerCallId, name, arguments: given } of calls) accumulator.push(2, { type: 'tool-call-delta', index: callIndex + 1, id: providerCallId ?? '', name, argumentsDelta: given });
  accumulator.push(3, { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } });
  return zstdCompressSync(JSON.stringify(accumulator.snapshot()));
}

const plainCall = (attemptId: AttemptId, callIndex: number): NewCall => ({
  toolCallId: deriveToolCallId(attemptId, callIndex), callIndex, providerCallId: `provider-${callIndex}`, name: 'search_notes', arguments: '{}', effect: 'read',
  refusal: null, recorded: null, reservation: null, delegation: null, scratchpadJob: false, startedEvents: [],
});

export const paidCall = (attemptId: AttemptId, callIndex: number, operation: Extract<Operation, 'search' | 'read'>, estimate = credits(operation === 'read' ? 2 : 1)): NewCall => {
  const call = plainCall(attemptId, callIndex);
  return { ...call, reservation: { id: mint<ReservationId>('res'), effectKey: `tool:${call.toolCallId}`, operation, estimate } };
};

export const delegationCall = (attemptId: AttemptId, callIndex: number): NewCall => ({
  ...plainCall(attemptId, callIndex),
  name: 'delegate_research_task',
  effect: 'delegate',
  delegation: { runId: mint<RunId>('run'), threadId: mint<ConversationThreadId>('thr'), task: `task ${callIndex}`, prompt: `Do task ${callIndex}.` },
});

export const noteCall = (attemptId: AttemptId, callIndex: number, name = 'append_scratchpad'): NewCall => ({ ...plainCall(attemptId, callIndex), name, effect: 'scratchpad-write', scratchpadJob: true });

export const refusedCall = (attemptId: AttemptId, callIndex: number): NewCall => ({ ...plainCall(attemptId, callIndex), effect: 'none', refusal: { kind: 'error', code: 'TOOL_ARGUMENTS_INVALID', message: 'no JSON' } });

export const settledCall = (toolCallId: ToolCallId, reservation: OpenReservation | null, source: SettledCall['source'] = null): SettledCall => ({
  toolCallId,
  result: source ? { kind: 'page', sourceId: source.id, url: source.page.url, title: source.page.title, page: 0, pages: 1 } : { kind: 'text', text: 'found' },
  charge: reservation && { reservation, charge: reservation.estimate },
  source,
  events: [],
  alreadySettled: false,
  killedProcess: false,
});

export function ending(reason: StopReason, delegationResult: ToolResult | null = null): RunEnding {
  const { status } = STOP_REASONS[reason];
  return {
    status,
    stopReason: reason,
    error: status === 'failed' ? { code: 'INTERNAL_ERROR', message: 'it broke' } : null,
    limitsHit: [],
    report: delegationResult ? null : 'The report.',
    citations: null,
    delegationResult,
    events: delegationResult ? [] : [{ type: 'run_status', status, stop_reason: reason }],
  };
}

export const workerAnswer = (workerRunId: RunId): RunEnding => ending('answered', { kind: 'delegation', workerRunId, text: 'done', findings: 0 });

export const scratchpadOf = async (world: JournalWorld, runId: RunId): Promise<ScratchpadThreadId> => world.one('SELECT scratchpad_thread_id FROM runs WHERE id = ?', [runId]);

export const newSourceId = (): SourceId => mint('src');
