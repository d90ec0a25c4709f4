import { runJobId, toolCallJobId, type RunId, type ToolCallId } from '#contracts';
import type { OutboxJob } from '#domain';
import { hasLapsed } from '../journal/fence.ts';
import { readJob } from '../journal/read-settled.ts';
import { outboxInsert } from '../journal/writes.ts';
import { affectedBy, type Outcome, type Row, type Sql, type Statement } from '../sql.ts';
import { pendingStatement } from './outbox.repository.ts';

export interface SweepTimings {
  /** A job that was sent longer ago than this and has not been taken is sent again. */
  resendAfterMs: number;
  /**
   * The same for a run whose holder died. It is known to have nobody, so what is late is not a long queue: whoever took the job died before
   * the claim.
   */
  recoverAfterMs: number;
  limit: number;
}

/** A worker run that has not ended needs a job even if its parent has closed the call meanwhile: it still has to end. */
const ANY_STATUS = '1 = 1';
const STILL_OPEN = `status = 'open'`;
const OWNER_KEPT_SECONDS = 600;
/** Younger outbox rows are being sent by whoever wrote them. */
const OUTBOX_MIN_AGE_MS = 1_000;

/** Where the reads of a sweep go. */
export interface PacketReader {
  batch(statements: Statement[]): Promise<Outcome[]>;
}

export interface SweepFinds {
  /** Jobs whose rows are older than a second. */
  unsent: OutboxJob[];
  /** Runs that need a job, for `raise`. */
  runs: Row[];
  /** Scratchpad writes that need a job, for `raise`. */
  writes: Row[];
  /** Root runs that were cancelled, or have ended, with runs that nobody holds; whoever was to end those may have died. */
  cancelledRoots: RunId[];
  /** No run is queued, held or waiting: nothing can get lost before one is accepted. */
  isIdle: boolean;
}

function needStatements(timings: SweepTimings): Statement[] {
  return [
    {
      // a claim's first term ends after the job that led to it was sent: a later one says that a sweeper has sent since and nobody took it
      sql: `SELECT r.id, r.parent_tool_call_id, r.wake_number FROM runs r LEFT JOIN tool_calls c ON c.id = r.parent_tool_call_id
        WHERE ${hasLapsed('r')} AND (r.lease_expires_at IS NULL OR COALESCE(c.sent_at, r.sent_at) < r.lease_expires_at
        OR COALESCE(c.sent_at, r.sent_at) < NOW(3) - INTERVAL ? MICROSECOND) LIMIT ?`,
      values: [timings.recoverAfterMs * 1000, timings.limit],
    },
    {
      // a second after its last result the wake was lost, unless one was sent since by a sweeper
      sql: `SELECT r.id, NULL AS parent_tool_call_id, r.wake_number FROM runs r WHERE r.status = 'waiting' AND r.waiting_at < NOW(3) - INTERVAL 1 SECOND
        AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.run_id = r.id AND c.turn = r.turn AND (c.status = 'open' OR c.settled_at > NOW(3) - INTERVAL 1 SECOND))
        AND (r.sent_at < NOW(3) - INTERVAL ? MICROSECOND
        OR EXISTS (SELECT 1 FROM tool_calls c WHERE c.run_id = r.id AND c.turn = r.turn AND c.settled_at > r.sent_at)) LIMIT ?`,
      values: [timings.resendAfterMs * 1000, timings.limit],
    },
    {
      sql: `SELECT r.id, r.parent_tool_call_id, r.wake_number FROM runs r LEFT JOIN tool_calls c ON c.id = r.parent_tool_call_id
        WHERE r.status = 'queued' AND r.sent_at < NOW(3) - INTERVAL ? MICROSECOND
        AND (c.id IS NULL OR (c.delivery > 0 AND c.sent_at < NOW(3) - INTERVAL ? MICROSECOND)) LIMIT ?`,
      values: [timings.resendAfterMs * 1000, timings.resendAfterMs * 1000, timings.limit],
    },
    {
      sql: `SELECT id FROM tool_calls WHERE status = 'open' AND effect = 'scratchpad-write' AND sent_at < NOW(3) - INTERVAL ? MICROSECOND LIMIT ?`,
      values: [timings.resendAfterMs * 1000, timings.limit],
    },
  ];
}

const LIVE_RUN: Statement = { sql: `SELECT 1 FROM runs WHERE status IN ('queued', 'running', 'waiting') LIMIT 1` };

const cancelledRootsStatement = (limit: number): Statement => ({
  sql: `SELECT DISTINCT root.id FROM runs r JOIN runs root ON root.id = r.root_run_id
    WHERE r.status IN ('queued', 'waiting')
    AND (root.cancel_requested_at < NOW(3) - INTERVAL 1 SECOND OR root.ended_at < NOW(3) - INTERVAL 1 SECOND) LIMIT ?`,
  values: [limit],
});

/**
 * Finds work that needs a job and has none, whatever was lost: an event, a job, a process or all of Redis. The row is the
 * truth; each find raises the delivery or wake number first, because an add under an id that still exists is ignored.
 */
export class SweepRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Everything that a sweep looks for, in one packet of reads. */
  async look(timings: SweepTimings, packets: PacketReader = this.#sql): Promise<SweepFinds> {
    const outcomes = await packets.batch([...needStatements(timings), cancelledRootsStatement(timings.limit), pendingStatement(OUTBOX_MIN_AGE_MS, timings.limit), LIVE_RUN]);
    const [lapsed, waiting, queued, writes, roots, unsent, live] = outcomes as [Row[], Row[], Row[], Row[], Row[], Row[], Row[]];
    return { unsent: unsent.map(readJob), runs: [...lapsed, ...waiting, ...queued], writes, cancelledRoots: roots.map((row) => row.id as RunId), isIdle: live.length + unsent.length + writes.length === 0 };
  }

  /** Gives what was found a new number and a job under it; what another sweeper was quicker with is left out. */
  async raise({ runs, writes }: Pick<SweepFinds, 'runs' | 'writes'>): Promise<OutboxJob[]> {
    const jobs: OutboxJob[] = [];
    for (const row of runs) {
      const job = row.parent_tool_call_id === null ? await this.#wakeAgain(row) : await this.#deliverAgain(row.parent_tool_call_id as ToolCallId, 'delegations', ANY_STATUS);
      if (job) jobs.push(job);
    }
    for (const row of writes) {
      const job = await this.#deliverAgain(row.id as ToolCallId, 'scratchpad', STILL_OPEN);
      if (job) jobs.push(job);
    }
    return jobs;
  }

  /** Looks and raises. */
  async sweep(timings: SweepTimings): Promise<OutboxJob[]> {
    return this.raise(await this.look(timings));
  }

  /** Forgets processes that stopped beating long ago: one that comes back writes its row anew. Returns how many. Safe to repeat. */
  async forgetDeadOwners(): Promise<number> {
    const rows = await this.#sql.rows('SELECT owner FROM lease_owners WHERE expires_at < NOW(3) - INTERVAL ? SECOND LIMIT 1000', [OWNER_KEPT_SECONDS]);
    if (rows.length === 0) return 0;
    const owners = rows.map((row) => row.owner as string);
    const { affectedRows } = await this.#sql.change('DELETE FROM lease_owners WHERE owner IN (?) AND expires_at < NOW(3) - INTERVAL ? SECOND', [owners, OWNER_KEPT_SECONDS]);
    return affectedRows;
  }

  /** Two sweepers may find the same run, at once or one after the other: only the one whose conditional update hits sends. */
  #wakeAgain(row: Row): Promise<OutboxJob | null> {
    const runId = row.id as RunId;
    const wakeNumber = row.wake_number as number;
    const raise = {
      sql: `UPDATE runs SET wake_number = wake_number + 1, sent_at = NOW(3) WHERE id = ? AND wake_number = ?
        AND ended_at IS NULL AND sent_at < NOW(3) - INTERVAL 1 SECOND`,
      values: [runId, wakeNumber],
    };
    return this.#sendAgain(raise, runJobId(runId, wakeNumber), { queue: 'runs', jobId: runJobId(runId, wakeNumber + 1), payload: { runId } });
  }

  async #deliverAgain(toolCallId: ToolCallId, queue: 'delegations' | 'scratchpad', condition: string): Promise<OutboxJob | null> {
    const rows = await this.#sql.rows(`SELECT delivery FROM tool_calls WHERE id = ? AND ${condition} AND sent_at < NOW(3) - INTERVAL 1 SECOND`, [toolCallId]);
    const delivery = rows[0]?.delivery as number | undefined;
    if (delivery === undefined) return null;
    const raise = {
      sql: `UPDATE tool_calls SET delivery = delivery + 1, sent_at = NOW(3) WHERE id = ? AND delivery = ?`,
      values: [toolCallId, delivery],
    };
    return this.#sendAgain(raise, toolCallJobId(toolCallId, delivery), { queue, jobId: toolCallJobId(toolCallId, delivery + 1), payload: { toolCallId } });
  }

  /**
   * The new number and the job under it are one commit: a sweeper that dies or cannot reach Redis leaves the job in the outbox, where it
   * takes the place of the one before it, so that a Redis that stays away does not fill the table.
   */
  #sendAgain(raise: Statement, lastJobId: string, job: OutboxJob): Promise<OutboxJob | null> {
    return this.#sql.transaction([raise], async (tx, opened) => {
      if (affectedBy(opened, 0) === 0) return null;
      await tx.batchAndCommit([{ sql: 'DELETE FROM outbox WHERE job_id = ?', values: [lastJobId] }, outboxInsert(job)]);
      return job;
    });
  }
}
