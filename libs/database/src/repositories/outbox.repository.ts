import type { OutboxJob } from '#domain';
import { readJob } from '../journal/read-settled.ts';
import { rowsOf, type Sql, type Statement } from '../sql.ts';

export const pendingStatement = (minAgeMs: number, limit: number): Statement => ({
  sql: 'SELECT queue, job_id, payload FROM outbox WHERE created_at <= NOW(3) - INTERVAL ? MICROSECOND ORDER BY id LIMIT ?',
  values: [minAgeMs * 1000, limit],
});

/** Jobs whose rows are committed. A row lives until its job was added; what a direct add missed, the sweeper finds here. */
export class OutboxRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Rows older than `minAgeMs`, oldest first. Several dispatchers may get the same row: job ids make the second add a no-op. */
  async pending(minAgeMs: number, limit: number): Promise<OutboxJob[]> {
    return rowsOf(await this.#sql.batch([pendingStatement(minAgeMs, limit)]), 0).map(readJob);
  }

  /** Marks jobs as sent, many at once. Safe to repeat. */
  async markSent(jobIds: string[]): Promise<void> {
    if (jobIds.length > 0) await this.#sql.change('DELETE FROM outbox WHERE job_id IN (?)', [jobIds]);
  }
}
