import { QuaestorError, type RunId, type TenantId } from '#contracts';
import type { RunTreeRecord } from '#domain';
import { treeRecordOf } from '../record/tree-record.ts';
import { readTreeRows } from '../record/tree-rows.ts';
import type { Sql } from '../sql.ts';

/** Whole runs as they were recorded. Reads only. */
export class RunRecordRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Everything stored of a root run and its workers, at one instant. `tenantId` null reads any tenant's, for an operator.
   * @throws QuaestorError `NOT_FOUND`; `JOURNAL_INVALID` naming the row that cannot be read
   */
  async read(rootRunId: RunId, tenantId: TenantId | null): Promise<RunTreeRecord> {
    return treeRecordOf(await readTreeRows(this.#sql, rootRunId, tenantId));
  }

  /** The root run of a worker run, and of a root run itself. Throws `NOT_FOUND`. */
  async rootOf(runId: RunId): Promise<RunId> {
    const row = (await this.#sql.rows('SELECT root_run_id FROM runs WHERE id = ?', [runId]))[0];
    if (!row) throw new QuaestorError('NOT_FOUND', 'There is no run with this id.');
    return row.root_run_id as RunId;
  }
}
