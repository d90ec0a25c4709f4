import { QuaestorError, type AssistantRole, type ErrorResult, type ScratchpadThreadId, type TenantId, type ToolCallId, type ToolResult } from '#contracts';
import { scratchpadWriteEvents, type ScratchpadContent, type ScratchpadReader } from '#domain';
import { callUpdate } from '../journal/close-turn.ts';
import { readResult } from '../journal/claim.ts';
import { lockStatement, readLocked } from '../journal/fence.ts';
import { RootWrites } from '../journal/writes.ts';
import { rowsOf, type Row, type Sql } from '../sql.ts';

/** What the service decides to write for one call, from the call's own arguments. */
export type ScratchpadWrite = { operation: 'append'; text: string } | { operation: 'update'; content: string };

export interface PendingWrite {
  toolCallId: ToolCallId;
  name: string;
  arguments: string;
}

/** The read-only door, for everyone. */
export class ScratchpadReadRepository implements ScratchpadReader {
  protected readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  async read(tenantId: TenantId, threadId: ScratchpadThreadId): Promise<ScratchpadContent> {
    const outcomes = await this.sql.batch([
      { sql: 'SELECT body, revision FROM scratchpads WHERE thread_id = ? AND tenant_id = ?', values: [threadId, tenantId] },
      {
        sql: `SELECT sequence_no, author, worker_number, kind, text, created_at FROM scratchpad_entries
          WHERE thread_id = ? AND tenant_id = ? ORDER BY sequence_no`,
        values: [threadId, tenantId],
      },
    ]);
    const pad = rowsOf(outcomes, 0)[0];
    return {
      body: (pad?.body as string | undefined) ?? '',
      revision: (pad?.revision as number | undefined) ?? 0,
      entries: rowsOf(outcomes, 1).map((row) => ({
        sequenceNo: String(row.sequence_no),
        author: row.author as AssistantRole,
        worker: row.worker_number as number | null,
        kind: row.kind as 'note' | 'finding',
        text: row.text as string,
        createdAt: (row.created_at as Date).toISOString(),
      })),
    };
  }

  /** The settled result of a call, or null while it is open. */
  async resultOf(toolCallId: ToolCallId): Promise<ToolResult | null> {
    const rows = await this.sql.rows('SELECT result FROM tool_calls WHERE id = ?', [toolCallId]);
    if (!rows[0]) throw new QuaestorError('JOURNAL_INVALID', `Tool call ${toolCallId} has no row.`);
    return readResult(toolCallId, rows[0].result as string | null);
  }
}

/** The only writer of scratchpad rows; used by `apps/scratchpad` alone. */
export class ScratchpadWriteRepository extends ScratchpadReadRepository {
  /** The call to carry out, or null when it is unknown or has its result already. */
  async pending(toolCallId: ToolCallId): Promise<PendingWrite | null> {
    const rows = await this.sql.rows(`SELECT id, name, arguments FROM tool_calls WHERE id = ? AND status = 'open'`, [toolCallId]);
    const row = rows[0];
    return row ? { toolCallId, name: row.name as string, arguments: row.arguments as string } : null;
  }

  /**
   * Entry or body, the settled call and the events in one commit. A repeat under the same call adds nothing: the call is no longer open
   * . Returns the root run whose observers should look, or null when there was nothing to do.
   */
  async settle(toolCallId: ToolCallId, write: ScratchpadWrite | ErrorResult): Promise<string | null> {
    const ids = (
      await this.sql.rows(
        `SELECT c.run_id, c.root_run_id, c.tenant_id, r.scratchpad_thread_id, r.role, r.worker_number, r.assistant_id
          FROM tool_calls c JOIN runs r ON r.id = c.run_id WHERE c.id = ?`,
        [toolCallId],
      )
    )[0];
    if (!ids) return null;
    const opening = [
      lockStatement(ids.run_id as string),
      { sql: 'SELECT status FROM tool_calls WHERE id = ? FOR UPDATE', values: [toolCallId] },
      { sql: 'SELECT revision FROM scratchpads WHERE thread_id = ? FOR UPDATE', values: [ids.scratchpad_thread_id as string] },
    ];
    return this.sql.transaction(opening, async (tx, opened) => {
      if (rowsOf(opened, 1)[0]?.status !== 'open') return null;
      const locked = readLocked(ids.run_id as string, opened);
      const writes = new RootWrites({ tenantId: ids.tenant_id as string, rootRunId: ids.root_run_id as string, runId: ids.run_id as string }, locked.root);
      const result = this.#write(writes, toolCallId, ids, locked.root.cancelRequested, write);
      writes.add(callUpdate(toolCallId, result));
      await tx.batchAndCommit(writes.statements());
      return ids.root_run_id as string;
    });
  }

  #write(writes: RootWrites, toolCallId: ToolCallId, ids: Row, cancelled: boolean, write: ScratchpadWrite | ErrorResult): ToolResult {
    if ('kind' in write) return write;
    if (cancelled) return { kind: 'error', code: 'RUN_CANCELLED', message: 'The run was cancelled before this note was written.' };
    const author = { role: ids.role as AssistantRole, assistantId: ids.assistant_id as string, worker: ids.worker_number as number | null };
    if (write.operation === 'append') {
      writes.add({
        sql: `INSERT INTO scratchpad_entries (tenant_id, thread_id, run_id, author, worker_number, tool_call_id, kind, text, created_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, NOW(3))`,
        values: [
          ids.tenant_id as string, ids.scratchpad_thread_id as string, ids.run_id as string, author.role, author.worker, toolCallId,
          author.role === 'worker' ? 'finding' : 'note', write.text,
        ],
      });
      writes.event(...scratchpadWriteEvents('append', write.text, author));
      return { kind: 'text', text: 'Note appended to the scratchpad.' };
    }
    writes.add({
      sql: 'UPDATE scratchpads SET body = ?, revision = revision + 1, body_tool_call_id = ?, updated_at = NOW(3) WHERE thread_id = ?',
      values: [write.content, toolCallId, ids.scratchpad_thread_id as string],
    });
    writes.event(...scratchpadWriteEvents('update', write.content, author));
    return { kind: 'text', text: 'Scratchpad body updated.' };
  }
}
