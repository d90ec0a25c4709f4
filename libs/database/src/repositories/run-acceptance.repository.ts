import {
  QuaestorError,
  runJobId,
  type AssistantId,
  type ConversationThreadId,
  type DurableEventBody,
  type HostPolicy,
  type RunId,
  type TenantId,
} from '#contracts';
import type { OutboxJob } from '#domain';
import { takeHold } from '../journal/ledger-statements.ts';
import { eventInsert, outboxInsert } from '../journal/writes.ts';
import { isDuplicateKey, isRefusedCondition } from '../sql-failure.ts';
import { rowsOf, type Sql, type Statement, type Transaction } from '../sql.ts';
import { IdempotencyRepository, takeKeyStatement, type Acceptance, type IdempotencyKey } from './idempotency.repository.ts';

/** A run as it was asked for, with every limit decided and every id minted. */
export interface NewRun {
  tenantId: TenantId;
  runId: RunId;
  threadId: ConversationThreadId;
  question: string;
  budgetMicrocredits: number;
  /** What it is expected to spend; 0 where nobody has estimated it. */
  forecastMicrocredits?: number;
  /** Seconds from acceptance, by the database's clock. */
  deadlineSeconds: number;
  sourceCap: number;
  workersMax: number;
  /** Hosts whose pages the run may read; null is any. */
  hostPolicy?: HostPolicy | null;
  idempotencyKey?: IdempotencyKey;
}

interface Assistant {
  id: AssistantId;
  turnsMax: number;
}

const QUEUED: DurableEventBody = { type: 'run_status', status: 'queued' };

/** Takes new runs in. */
export class RunAcceptanceRepository {
  readonly #sql: Sql;
  readonly #idempotency: IdempotencyRepository;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#idempotency = new IdempotencyRepository(sql);
  }

  /**
   * Makes the run and everything it needs to start - thread, scratchpad, question, budget, first event, job to send - in one transaction,
   * or nothing. With an idempotency key, a repeat names the run of the first request; any number of racing repeats make one run.
   */
  async accept(run: NewRun): Promise<Acceptance> {
    try {
      await this.#sql.transaction(openingStatements(run), (tx, opened) => insertRun(tx, run, assistantOf(rowsOf(opened, 0)[0])));
      return { kind: 'accepted', runId: run.runId, job: firstJob(run.runId) };
    } catch (error) {
      if (!isDuplicateKey(error) && isRefusedCondition(error)) throw quotaExhausted(error);
      if (!isDuplicateKey(error)) throw error;
      const earlier = await this.earlier(run);
      if (!earlier) throw error;
      return earlier;
    }
  }

  /** What the id or the idempotency key of this run stands for already; null when both are new. Reads only. */
  earlier({ tenantId, runId, idempotencyKey }: NewRun): Promise<Acceptance | null> {
    return this.#idempotency.repeated(tenantId, firstJob(runId), runId, idempotencyKey);
  }
}

export const quotaExhausted = (cause: unknown): QuaestorError =>
  new QuaestorError('QUOTA_EXHAUSTED', 'The credits of this run are more than is left of the quota: ask for fewer, or have the quota raised.', { cause, details: { param: 'budget_credits' } });

const firstJob = (runId: RunId): OutboxJob => ({ queue: 'runs', jobId: runJobId(runId, 0), payload: { runId } });

function openingStatements(run: NewRun): Statement[] {
  const assistant = { sql: "SELECT id, turns_max FROM assistants WHERE tenant_id = ? AND name = 'supervisor'", values: [run.tenantId] };
  return run.idempotencyKey ? [assistant, takeKeyStatement(run.tenantId, run.idempotencyKey, run.runId)] : [assistant];
}

function assistantOf(row: Record<string, unknown> | undefined): Assistant {
  if (!row) throw new QuaestorError('INTERNAL_ERROR', 'This tenant has no assistant named "supervisor": restart the gateway, which adds the shipped ones.');
  return { id: row['id'] as AssistantId, turnsMax: row['turns_max'] as number };
}

async function insertRun(tx: Transaction, run: NewRun, assistant: Assistant): Promise<void> {
  const { tenantId, runId, threadId } = run;
  const job = firstJob(runId);
  await tx.batchAndCommit([
    { sql: 'INSERT INTO threads (id, tenant_id, created_at) VALUES (?, ?, NOW(3))', values: [threadId, tenantId] },
    {
      sql: `INSERT INTO runs (id, tenant_id, thread_id, root_run_id, scratchpad_thread_id, assistant_id, role, question, status, turns_max,
          workers_max, source_cap, host_policy, event_seq, active_thread_id, deadline_at, created_at, sent_at)
        VALUES (?, ?, ?, ?, ?, ?, 'supervisor', ?, 'queued', ?, ?, ?, ?, 1, ?, NOW(3) + INTERVAL ? SECOND, NOW(3), NOW(3))`,
      values: [
        ...[runId, tenantId, threadId, runId, threadId, assistant.id, run.question],
        ...[assistant.turnsMax, run.workersMax, run.sourceCap, run.hostPolicy ? JSON.stringify(run.hostPolicy) : null, threadId, run.deadlineSeconds],
      ],
    },
    {
      sql: "INSERT INTO scratchpads (thread_id, tenant_id, body, created_at, updated_at) VALUES (?, ?, '', NOW(3), NOW(3))",
      values: [threadId, tenantId],
    },
    {
      sql: "INSERT INTO messages (tenant_id, thread_id, run_id, role, content, created_at) VALUES (?, ?, ?, 'user', ?, NOW(3))",
      values: [tenantId, threadId, runId, run.question],
    },
    {
      sql: 'INSERT INTO budgets (root_run_id, tenant_id, limit_microcredits, forecast_microcredits) VALUES (?, ?, ?, ?)',
      values: [runId, tenantId, run.budgetMicrocredits, run.forecastMicrocredits ?? 0],
    },
    eventInsert(tenantId, runId, 0, [QUEUED]),
    outboxInsert(job),
    takeHold(tenantId, run.budgetMicrocredits),
  ]);
}
