import type { RunId, RunStatus, ToolCallStatus } from '#contracts';
import { openWorkOf, type OpenWork } from '#domain';
import { readResult } from '../journal/claim.ts';
import { rowsOf, type Sql } from '../sql.ts';
import { CHAIN } from './chain.ts';

/** What a run and those before it have asked for, what failed, and what is still to be done. For the engine: asks for no tenant. */
export class OpenWorkRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async of(rootRunId: RunId): Promise<OpenWork> {
    const outcomes = await this.#sql.batch([
      {
        sql: `${CHAIN} SELECT c.id, c.name, c.arguments, c.status, c.result FROM chain JOIN runs root ON root.id = chain.id
          JOIN runs r ON r.root_run_id = root.id JOIN tool_calls c ON c.run_id = r.id
          WHERE c.name IN ('perform_web_search', 'read_web_page', 'delegate_research_task')
          ORDER BY root.run_no, r.worker_number IS NOT NULL, r.worker_number, c.turn, c.call_index`,
        values: [rootRunId],
      },
      // what was left unfinished is handed to the successor, so only the last run's tasks are open
      { sql: 'SELECT question, status FROM runs WHERE root_run_id = ? AND worker_number IS NOT NULL ORDER BY worker_number', values: [rootRunId] },
    ]);
    const calls = rowsOf(outcomes, 0).map((row) => ({
      name: row.name as string,
      arguments: row.arguments as string,
      status: row.status as ToolCallStatus,
      result: readResult(row.id as string, row.result as string | null),
    }));
    return openWorkOf(calls, rowsOf(outcomes, 1).map((row) => ({ task: row.question as string, status: row.status as RunStatus })));
  }
}
