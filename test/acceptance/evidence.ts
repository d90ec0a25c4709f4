import mysql, { type RowDataPacket } from 'mysql2/promise';
import type { EventEnvelope, RunView } from '#contracts';

/** A run of one tree as its row tells it. */
export interface RunRow {
  id: string;
  role: string;
  worker: number | null;
  threadId: string;
  scratchpadThreadId: string;
  status: string;
  errorCode: string | null;
  hasFailedAt: boolean;
}

export interface ToolCallRow {
  id: string;
  runId: string;
  name: string;
  status: string;
  result: string | null;
  errorCode: string | null;
  childRunId: string | null;
}

export interface MessageRow {
  threadId: string;
  runId: string;
  role: string;
  toolCallId: string | null;
  isError: boolean;
  content: string;
}

export interface AttemptRow {
  runId: string;
  kind: string;
  outcome: string;
}

export interface EntryRow {
  threadId: string;
  runId: string;
  text: string;
}

/** Everything a verdict may be based on: what the client saw, and what the database holds about the same run. */
export interface Evidence {
  run: RunView;
  events: EventEnvelope[];
  /** Requests the client sent, as `METHOD /path`. */
  requests: string[];
  /** Requests that the model refused for breaking the protocol. */
  protocolProblems: number;
  rows: { runs: RunRow[]; toolCalls: ToolCallRow[]; messages: MessageRow[]; attempts: AttemptRow[]; entries: EntryRow[] };
}

const OF_TREE = 'run_id IN (SELECT id FROM runs WHERE root_run_id = ?)';

/** Rows of a whole run tree, oldest first. */
export async function readRows(databaseUrl: string, rootRunId: string): Promise<Evidence['rows']> {
  const connection = await mysql.createConnection(databaseUrl);
  const select = async <Row>(sql: string): Promise<Row[]> => (await connection.query<(Row & RowDataPacket)[]>(sql, [rootRunId]))[0];
  try {
    const runs = await select<RunRow>(
      'SELECT id, role, worker_number AS worker, thread_id AS threadId, scratchpad_thread_id AS scratchpadThreadId, status, last_error_code AS errorCode, failed_at IS NOT NULL AS hasFailedAt FROM runs WHERE root_run_id = ? ORDER BY run_no',
    );
    const messages = await select<MessageRow>(
      `SELECT thread_id AS threadId, run_id AS runId, role, tool_call_id AS toolCallId, is_error AS isError, content FROM messages WHERE ${OF_TREE} ORDER BY sequence_no`,
    );
    return {
      runs: runs.map((row) => ({ ...row, hasFailedAt: Boolean(row.hasFailedAt) })),
      messages: messages.map((row) => ({ ...row, isError: Boolean(row.isError) })),
      toolCalls: await select<ToolCallRow>(
        'SELECT id, run_id AS runId, name, status, result, error_code AS errorCode, child_run_id AS childRunId FROM tool_calls WHERE root_run_id = ? ORDER BY created_at, id',
      ),
      attempts: await select<AttemptRow>('SELECT run_id AS runId, kind, outcome FROM attempts WHERE root_run_id = ? ORDER BY settled_at'),
      entries: await select<EntryRow>(`SELECT thread_id AS threadId, run_id AS runId, text FROM scratchpad_entries WHERE ${OF_TREE} ORDER BY sequence_no`),
    };
  } finally {
    await connection.end();
  }
}
