import { QuaestorError, runJobId, type RunId, type TenantId } from '#contracts';
import { idMapBy, type IdMap, type OutboxJob } from '#domain';
import { takeHold } from '../journal/ledger-statements.ts';
import { eventInsert, outboxInsert } from '../journal/writes.ts';
import { forkedRows } from '../record/fork-rows.ts';
import { insertTreeRows } from '../record/insert-rows.ts';
import { movedRows } from '../record/moved-rows.ts';
import { treeRecordOf } from '../record/tree-record.ts';
import { newestRoot, readTreeRows, type TreeRows } from '../record/tree-rows.ts';
import { isDuplicateKey, isRefusedCondition } from '../sql-failure.ts';
import { rowsOf, type Sql, type Statement } from '../sql.ts';
import { IdempotencyRepository, takeKeyStatement, type Acceptance, type IdempotencyKey } from './idempotency.repository.ts';
import { quotaExhausted } from './run-acceptance.repository.ts';

/** A fork as it was asked for, with every limit decided. */
export interface NewFork {
  tenantId: TenantId;
  /** The root run to go on from. */
  runId: RunId;
  /** The first turn that is asked for anew, from 1. */
  fromTurn: number;
  budgetMicrocredits: number;
  deadlineSeconds: number;
  idempotencyKey?: IdempotencyKey;
}

/** Makes whole runs out of recorded ones, under new ids. */
export class RunCopyRepository {
  readonly #sql: Sql;
  readonly #idempotency: IdempotencyRepository;
  readonly #randomBytes: () => Uint8Array;

  constructor(sql: Sql, randomBytes: () => Uint8Array) {
    this.#sql = sql;
    this.#idempotency = new IdempotencyRepository(sql);
    this.#randomBytes = randomBytes;
  }

  /**
   * A new run of the same tenant that has the turns of another one before `fromTurn` behind it, and a budget and a deadline of its own. One
   * transaction. With an idempotency key, a repeat names the first fork; without one it makes another.
   * @throws QuaestorError `NOT_FOUND`, `INVALID_REQUEST`, `QUOTA_EXHAUSTED`
   */
  async fork(fork: NewFork): Promise<Acceptance> {
    const { tenantId, runId, idempotencyKey } = fork;
    const rows = await readTreeRows(this.#sql, runId, tenantId);
    const map = idMapBy(this.#randomBytes());
    const forkId = map(runId);
    const job: OutboxJob = { queue: 'runs', jobId: runJobId(forkId, 0), payload: { runId: forkId } };
    try {
      await this.#insertFork(fork, rows, map, job);
      return { kind: 'accepted', runId: forkId, job };
    } catch (error) {
      if (!isDuplicateKey(error)) throw isRefusedCondition(error) ? quotaExhausted(error) : error;
      const repeated = await this.#idempotency.repeated(tenantId, job, forkId, idempotencyKey);
      if (!repeated) throw error;
      return repeated;
    }
  }

  #insertFork({ tenantId, runId, fromTurn, budgetMicrocredits, deadlineSeconds, idempotencyKey }: NewFork, rows: TreeRows, map: IdMap, job: OutboxJob): Promise<void> {
    const forkId = map(runId);
    const clockStatement: Statement = { sql: 'SELECT NOW(3) AS now, NOW(3) + INTERVAL ? SECOND AS deadline_at', values: [deadlineSeconds] };
    return this.#sql.transaction([clockStatement, ...(idempotencyKey ? [takeKeyStatement(tenantId, idempotencyKey, forkId)] : [])], async (tx, opened) => {
      const clock = rowsOf(opened, 0)[0];
      const kept = forkedRows(rows, runId, { fromTurn, budgetMicrocredits, deadlineAt: clock?.deadline_at as Date, now: clock?.now as Date });
      await insertTreeRows(tx, movedRows(kept, keepingAssistants(map), tenantId));
      await tx.batchAndCommit([
        { sql: 'UPDATE runs SET event_seq = 1 WHERE id = ?', values: [forkId] },
        eventInsert(tenantId, forkId, 0, [{ type: 'run_status', status: 'queued' }]),
        outboxInsert(job),
        takeHold(tenantId, budgetMicrocredits),
      ]);
    });
  }

  /**
   * Stores the rows of an ended tree as a run of this tenant and returns its id. What it has cost was paid elsewhere and counts
   * against no quota here. One transaction; a repeat makes another copy.
   * @throws QuaestorError `SESSION_INVALID`
   */
  async adopt(rows: TreeRows, tenantId: TenantId): Promise<RunId> {
    const map = idMapBy(this.#randomBytes());
    const moved = movedRows(rows, map, tenantId);
    for (const assistant of moved.assistants) assistant.name = String(assistant.id);
    for (const budget of moved.budgets) budget.imported = 1;
    const root = await readable(moved);
    await this.#sql.transaction([], (tx) => insertTreeRows(tx, moved));
    return root;
  }
}

/** A fork is worked on by the tenant's own assistants, as they are now. */
const keepingAssistants = (map: IdMap): IdMap => (id) => (id.startsWith('asst_') ? id : map(id));

/** The id of the root run that the rows are about. */
async function readable(rows: TreeRows): Promise<RunId> {
  try {
    await treeRecordOf(rows);
    return newestRoot(rows).id as RunId;
  } catch (error) {
    throw new QuaestorError('SESSION_INVALID', `The artifact cannot be read as a run: ${error instanceof QuaestorError ? error.message : 'a row lacks what its table needs'}`, { cause: error });
  }
}
