import type { RunId, ToolCallId } from '#contracts';
import { ROOT_IS_OVER } from '../journal/fence.ts';
import type { Sql } from '../sql.ts';

/** What a heartbeat learns about a run this process holds. */
export interface HeldRun {
  runId: RunId;
  /** False when the lease has passed on or the run has ended: the holder stops. */
  held: boolean;
  cancelRequested: boolean;
}

export class LeaseRepository {
  readonly #sql: Sql;
  readonly #leaseTtlMs: number;

  constructor(sql: Sql, leaseTtlMs: number) {
    this.#sql = sql;
    this.#leaseTtlMs = leaseTtlMs;
  }

  /** Extends every lease of this process in one statement and reads the cancel flags of their root runs. Time is the database's. */
  async heartbeat(held: { runId: RunId; leaseEpoch: number }[]): Promise<HeldRun[]> {
    if (held.length === 0) return [];
    const ids = held.map(({ runId }) => runId);
    const pairs = held.map(({ runId, leaseEpoch }) => [runId, leaseEpoch]);
    const outcomes = await this.#sql.batch([
      {
        sql: `UPDATE runs SET lease_expires_at = NOW(3) + INTERVAL ? MICROSECOND WHERE status = 'running' AND (id, lease_epoch) IN (?)`,
        values: [this.#leaseTtlMs * 1000, pairs],
      },
      {
        sql: `SELECT r.id, r.status, r.lease_epoch, ${ROOT_IS_OVER} AS cancelled
          FROM runs r JOIN runs root ON root.id = r.root_run_id WHERE r.id IN (?)`,
        values: [ids],
      },
    ]);
    const rows = outcomes[1];
    if (!Array.isArray(rows)) throw new Error('the heartbeat read nothing');
    const found = new Map(rows.map((row) => [row.id as RunId, row]));
    return held.map(({ runId, leaseEpoch }) => {
      const row = found.get(runId);
      return { runId, held: row?.status === 'running' && row.lease_epoch === leaseEpoch, cancelRequested: Number(row?.cancelled ?? 0) === 1 };
    });
  }

  /** The worker run that answers a delegation, or null when the call is unknown. */
  async runOfDelegation(toolCallId: ToolCallId): Promise<RunId | null> {
    const rows = await this.#sql.rows('SELECT id FROM runs WHERE parent_tool_call_id = ?', [toolCallId]);
    return (rows[0]?.id as RunId | undefined) ?? null;
  }

  /** Root runs that wait although no call of their turn is open, among the parents of these delegations. */
  async parentsToWake(toolCallIds: ToolCallId[]): Promise<{ runId: RunId; wakeNumber: number }[]> {
    const rows = await this.#sql.rows(
      `SELECT DISTINCT r.id, r.wake_number FROM tool_calls mine JOIN runs r ON r.id = mine.run_id WHERE mine.id IN (?) AND r.status = 'waiting'
        AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.run_id = r.id AND c.turn = r.turn AND c.status = 'open')`,
      [toolCallIds],
    );
    return rows.map((row) => ({ runId: row.id as RunId, wakeNumber: row.wake_number as number }));
  }
}
