import type { RunId, ToolCallId } from '#contracts';
import { ROOT_IS_OVER } from '../journal/fence.ts';
import type { Outcome, Sql, Statement } from '../sql.ts';

/** What a heartbeat learns about a run this process holds. */
export interface HeldRun {
  runId: RunId;
  /** False when the lease has passed on or the run has ended: the holder stops. */
  held: boolean;
  cancelRequested: boolean;
}

export interface LeaseOptions {
  /** The process, as its claims name it in `runs.lease_owner`. */
  owner: string;
  leaseTtlMs: number;
}

/**
 * Leases of one process. A claim gives a run its first term; from then on the process keeps all of its runs with one row of its own, so
 * that a heartbeat neither waits for the row locks of hundreds of busy runs nor holds them up.
 */
export class LeaseRepository {
  readonly #sql: Sql;
  readonly #options: LeaseOptions;

  constructor(sql: Sql, options: LeaseOptions) {
    this.#sql = sql;
    this.#options = options;
  }

  /** Extends every lease of this process and reads what became of its runs and of their root runs. Time is the database's. */
  async heartbeat(held: { runId: RunId; leaseEpoch: number }[]): Promise<HeldRun[]> {
    if (held.length === 0) return [];
    const [, rows] = await this.#sql.batch([
      {
        sql: `INSERT INTO lease_owners (owner, expires_at) VALUES (?, NOW(3) + INTERVAL ? MICROSECOND)
          ON DUPLICATE KEY UPDATE expires_at = NOW(3) + INTERVAL ? MICROSECOND`,
        values: [this.#options.owner, this.#options.leaseTtlMs * 1000, this.#options.leaseTtlMs * 1000],
      },
      stateOf(held),
    ]);
    return readStates(held, rows);
  }

  /** Reads the same without extending anything, for single runs of which something was heard. */
  async look(held: { runId: RunId; leaseEpoch: number }[]): Promise<HeldRun[]> {
    if (held.length === 0) return [];
    const [rows] = await this.#sql.batch([stateOf(held)]);
    return readStates(held, rows);
  }

  /** Gives up every lease of this process at once; for its end. Safe to repeat. */
  async giveUp(): Promise<void> {
    await this.#sql.change('DELETE FROM lease_owners WHERE owner = ?', [this.#options.owner]);
  }

  /** The epoch under which the rows give a running run to this process, or null. */
  async epochOf(runId: RunId): Promise<number | null> {
    const rows = await this.#sql.rows(`SELECT lease_epoch FROM runs WHERE id = ? AND status = 'running' AND lease_owner = ?`, [runId, this.#options.owner]);
    return (rows[0]?.lease_epoch as number | undefined) ?? null;
  }

  /** Lets single runs lapse now, whose work here ended without an ending. A newer claim of the same run is left alone. */
  async abandon(runs: { runId: RunId; leaseEpoch: number }[]): Promise<void> {
    if (runs.length === 0) return;
    await this.#sql.change(
      `UPDATE runs SET lease_owner = NULL, lease_expires_at = NOW(3) - INTERVAL 1000 MICROSECOND WHERE status = 'running' AND (id, lease_epoch) IN (?)`,
      [runs.map(({ runId, leaseEpoch }) => [runId, leaseEpoch])],
    );
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

const stateOf = (held: { runId: RunId }[]): Statement => ({
  sql: `SELECT r.id, r.status, r.lease_epoch, ${ROOT_IS_OVER} AS cancelled FROM runs r JOIN runs root ON root.id = r.root_run_id WHERE r.id IN (?)`,
  values: [held.map(({ runId }) => runId)],
});

function readStates(held: { runId: RunId; leaseEpoch: number }[], rows: Outcome | undefined): HeldRun[] {
  if (!Array.isArray(rows)) throw new Error('the states of held runs were not read');
  const found = new Map(rows.map((row) => [row.id as RunId, row]));
  return held.map(({ runId, leaseEpoch }) => {
    const row = found.get(runId);
    return { runId, held: row?.status === 'running' && row.lease_epoch === leaseEpoch, cancelRequested: Number(row?.cancelled ?? 0) === 1 };
  });
}
