import type { DurableEventType, LimitHit, RunId, RunStatus, StopReason, TenantId } from '#contracts';
import type { Row, Sql } from '../sql.ts';
import { limitsOf } from '../journal/writes.ts';

/** One durable event as it is stored; `body` is JSON without `run_id`, `seq` and `at`. */
export interface StoredEvent {
  seq: number;
  type: DurableEventType;
  body: string;
  at: Date;
}

/** Where the events of a root run stand. */
export interface EventPosition {
  /** The newest `seq`. */
  newest: number;
  status: RunStatus;
  stopReason: StopReason | null;
  limitsHit: LimitHit[];
  endedAt: Date | null;
}

/** Reads events of root runs. Numbers are dense and rise in commit order, so what follows a number is never added to later. */
export class EventRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Null for a run that does not exist, is not a root run, or belongs to another tenant. */
  async findPosition(tenantId: TenantId, runId: RunId): Promise<EventPosition | null> {
    const rows = await this.#sql.rows(
      'SELECT event_seq, status, stop_reason, limits_hit, ended_at FROM runs WHERE id = ? AND tenant_id = ? AND root_run_id = id',
      [runId, tenantId],
    );
    return rows[0] ? toPosition(rows[0]) : null;
  }

  /** At most `limit` events after `afterSeq`, in order. The caller has checked the tenant. */
  async readAfter(rootRunId: RunId, afterSeq: number, limit: number): Promise<StoredEvent[]> {
    const rows = await this.#sql.rows('SELECT seq, type, body, created_at FROM run_events WHERE root_run_id = ? AND seq > ? ORDER BY seq LIMIT ?', [
      rootRunId,
      afterSeq,
      limit,
    ]);
    return rows.map((row) => ({ seq: row['seq'] as number, type: row['type'] as DurableEventType, body: row['body'] as string, at: row['created_at'] as Date }));
  }

  /** The newest `seq` of each of these root runs, in one query. */
  async newestSeqs(rootRunIds: RunId[]): Promise<Map<RunId, number>> {
    if (rootRunIds.length === 0) return new Map();
    const rows = await this.#sql.rows('SELECT id, event_seq FROM runs WHERE id IN (?)', [rootRunIds]);
    return new Map(rows.map((row) => [row['id'] as RunId, row['event_seq'] as number]));
  }
}

const toPosition = (row: Row): EventPosition => ({
  newest: row['event_seq'] as number,
  status: row['status'] as RunStatus,
  stopReason: row['stop_reason'] as StopReason | null,
  limitsHit: limitsOf(row['limits_hit'] as string),
  endedAt: row['ended_at'] as Date | null,
});
