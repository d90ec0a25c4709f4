import { toolCallJobId, type Operation, type QueueName, type ReservationId, type ToolCallId, type ToolCallStatus } from '#contracts';
import { limitOfRefusal, type OpenReservation, type OutboxJob, type SettledTurn, type TurnSettlement } from '#domain';
import { rowsOf, type Row, type Statement, type Transaction } from '../sql.ts';
import { readResult } from './claim.ts';
import type { Locked } from './fence.ts';

/** What a settlement has become that was committed without its holder hearing of it; read under the run's lock. */
export async function readSettled(tx: Transaction, settlement: TurnSettlement, locked: Locked): Promise<SettledTurn> {
  const { attempt, calls, limitsHit } = settlement;
  const jobIds = calls.map(({ toolCallId }) => toolCallJobId(toolCallId, 1));
  const outcomes = await tx.batch([
    {
      sql: `SELECT c.id, c.status, c.result, v.id AS reservation_id, v.operation, v.estimate_microcredits FROM tool_calls c
        LEFT JOIN reservations v ON v.id = c.reservation_id AND v.state = 'open' WHERE c.attempt_id = ? ORDER BY c.call_index`,
      values: [attempt.id],
    },
    { sql: 'SELECT queue, job_id, payload FROM outbox WHERE job_id IN (?)', values: [['', ...jobIds]] },
  ]);
  const stored = rowsOf(outcomes, 0).map(readCall);
  return {
    calls: stored,
    limitsHit: [...limitsHit, ...stored.flatMap(({ result }) => limitOfRefusal(result))],
    ledger: locked.root.ledger,
    cancelRequested: locked.root.cancelRequested,
    jobs: rowsOf(outcomes, 1).map(readJob),
  };
}

/** The reservation of this id, while it is open; no row for none. */
export const openReservation = (id: ReservationId | undefined): Statement => ({
  sql: `SELECT id AS reservation_id, operation, estimate_microcredits FROM reservations WHERE id = ? AND state = 'open'`,
  values: [id ?? ''],
});

export const readReservation = (row: Row): OpenReservation => ({
  id: row.reservation_id as ReservationId,
  operation: row.operation as Operation,
  estimate: Number(row.estimate_microcredits),
});

const readCall = (row: Row): SettledTurn['calls'][number] => ({
  toolCallId: row.id as ToolCallId,
  status: row.status as ToolCallStatus,
  result: readResult(row.id as string, row.result as string | null),
  reservation: row.reservation_id === null ? null : readReservation(row),
});

export const readJob = (row: Row): OutboxJob => ({
  queue: row.queue as QueueName,
  jobId: row.job_id as string,
  payload: JSON.parse(row.payload as string) as Record<string, string>,
});
