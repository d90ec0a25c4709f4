import { isTerminal, MICROCREDITS_PER_CREDIT, QuaestorError, runJobId, type DurableEventBody, type ResumeRunRequest, type RunId, type RunStatus, type StopReason, type TenantId } from '#contracts';
import { resumePrompt, type OutboxJob } from '#domain';
import { takeHold } from '../journal/ledger-statements.ts';
import { eventInsert, outboxInsert } from '../journal/writes.ts';
import { isRefusedCondition } from '../sql-failure.ts';
import { rowsOf, type Row, type Sql, type Statement } from '../sql.ts';
import { quotaExhausted } from './run-acceptance.repository.ts';

export type Resumption = { kind: 'resumed'; runId: RunId; job: OutboxJob } | { kind: 'repeated'; runId: RunId };

const QUEUED: DurableEventBody = { type: 'run_status', status: 'queued' };

/** Continues stopped runs as successors. */
export class RunResumptionRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Makes the one successor of a stopped run, on its thread and scratchpad, in one transaction: its limit is what the run had left and the
   * credits that are added, and it carries what the run had spent. Any number of calls at once, and every later one, name the same successor.
   * Null when this tenant has no such run. Throws `RUN_NOT_RESUMABLE`, `INVALID_REQUEST` and `QUOTA_EXHAUSTED`.
   */
  async resume(tenantId: TenantId, runId: RunId, successorId: RunId, request: ResumeRunRequest): Promise<Resumption | null> {
    try {
      return await this.#sql.transaction(openingStatements(tenantId, runId), async (tx, opened) => {
        const run = rowsOf(opened, 0)[0];
        if (!run) return null;
        const successor = rowsOf(opened, 1)[0];
        if (successor) return { kind: 'repeated' as const, runId: successor.id as RunId };
        const limits = limitsOf(run, request);
        await tx.batchAndCommit(successorStatements(run, successorId, limits, rowsOf(opened, 2)));
        return { kind: 'resumed' as const, runId: successorId, job: firstJob(successorId) };
      });
    } catch (error) {
      throw isRefusedCondition(error) ? quotaExhausted(error) : error;
    }
  }
}

const firstJob = (runId: RunId): OutboxJob => ({ queue: 'runs', jobId: runJobId(runId, 0), payload: { runId } });

/** The run's lock decides between callers: whoever has it next sees the successor. */
const openingStatements = (tenantId: TenantId, runId: RunId): Statement[] => [
  {
    sql: `SELECT r.*, b.limit_microcredits, b.reserved_microcredits, b.spent_microcredits, b.overrun_microcredits,
      TIMESTAMPDIFF(SECOND, r.ended_at, r.deadline_at) AS seconds_left FROM runs r STRAIGHT_JOIN budgets b ON b.root_run_id = r.id
      WHERE r.id = ? AND r.tenant_id = ? AND r.root_run_id = r.id FOR UPDATE`,
    values: [runId, tenantId],
  },
  { sql: 'SELECT id FROM runs WHERE resumed_from = ?', values: [runId] },
  { sql: `SELECT question FROM runs WHERE root_run_id = ? AND worker_number IS NOT NULL AND status <> 'completed' ORDER BY worker_number`, values: [runId] },
];

interface SuccessorLimits {
  carried: number;
  limit: number;
  seconds: number;
  sourceCap: number;
}

const refused = (message: string, param: string): QuaestorError => new QuaestorError('INVALID_REQUEST', message, { details: { param } });

function limitsOf(run: Row, { credits = 0, seconds, source_cap: sourceCap }: ResumeRunRequest): SuccessorLimits {
  const status = run.status as RunStatus;
  if (!isTerminal(status)) throw new QuaestorError('RUN_NOT_RESUMABLE', `This run is ${status} and goes on by itself.`);
  if (status === 'completed') throw new QuaestorError('RUN_NOT_RESUMABLE', 'This run was answered: ask a new question instead.');
  if (Number(run.reserved_microcredits) > 0) throw new QuaestorError('RUN_NOT_RESUMABLE', 'The last workers of this run are still ending: try again in a few seconds.', { retryable: true });
  const left = Number(run.seconds_left);
  if (credits === 0 && run.stop_reason === 'budget_exhausted') throw refused('credits: this run stopped because its credits were used up, so say how many more it may spend.', 'credits');
  if (seconds === undefined && left <= 0) throw refused('seconds: the time of this run was over, so say how many more seconds it may take.', 'seconds');
  const carried = Number(run.spent_microcredits) + Number(run.overrun_microcredits);
  return {
    carried,
    limit: Math.max(Number(run.limit_microcredits), carried) + Math.round(credits * MICROCREDITS_PER_CREDIT),
    seconds: seconds ?? left,
    sourceCap: sourceCap ?? (run.source_cap as number),
  };
}

function successorStatements(run: Row, successorId: RunId, { carried, limit, seconds, sourceCap }: SuccessorLimits, open: Row[]): Statement[] {
  const tenantId = run.tenant_id as string;
  const threadId = run.thread_id as string;
  const notice = resumePrompt(run.stop_reason as StopReason, open.map((row) => row.question as string));
  return [
    {
      sql: `INSERT INTO runs (id, tenant_id, thread_id, root_run_id, scratchpad_thread_id, assistant_id, role, question, status, turns_max,
          workers_max, source_cap, host_policy, event_seq, active_thread_id, resumed_from, deadline_at, created_at, sent_at)
        VALUES (?, ?, ?, ?, ?, ?, 'supervisor', ?, 'queued', ?, ?, ?, ?, 1, ?, ?, NOW(3) + INTERVAL ? SECOND, NOW(3), NOW(3))`,
      values: [
        ...[successorId, tenantId, threadId, successorId, run.scratchpad_thread_id as string, run.assistant_id as string, run.question as string],
        ...[run.turns_max as number, run.workers_max as number, sourceCap, run.host_policy as string | null, threadId, run.id as string, seconds],
      ],
    },
    {
      sql: `INSERT INTO messages (tenant_id, thread_id, run_id, role, content, created_at) VALUES (?, ?, ?, 'user', ?, NOW(3)), (?, ?, ?, 'user', ?, NOW(3))`,
      values: [tenantId, threadId, successorId, run.question as string, tenantId, threadId, successorId, notice],
    },
    {
      sql: 'INSERT INTO budgets (root_run_id, tenant_id, limit_microcredits, spent_microcredits, carried_microcredits) VALUES (?, ?, ?, ?, ?)',
      values: [successorId, tenantId, limit, carried, carried],
    },
    eventInsert(tenantId, successorId, 0, [QUEUED]),
    outboxInsert(firstJob(successorId)),
    takeHold(tenantId, limit - carried),
  ];
}
