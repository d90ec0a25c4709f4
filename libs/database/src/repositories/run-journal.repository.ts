import { QuaestorError, type RunId, type ToolCallId, type ToolResult } from '#contracts';
import type { AttemptPosition, ClaimedRun, ClosedTurn, EndedRun, Fence, LoadedRun, NewReservation, OpenReservation, OutboxJob, RunEnding, RunJournal, SettledTurn, TurnClosing, TurnSettlement } from '#domain';
import { beginFinish } from '../journal/begin-finish.ts';
import { claimRun, readResult, type ClaimOptions } from '../journal/claim.ts';
import { closeTurn } from '../journal/close-turn.ts';
import { endRun } from '../journal/end-run.ts';
import { endUnreadable } from '../journal/end-unreadable.ts';
import { park, release } from '../journal/park.ts';
import { settleTurn } from '../journal/settle-turn.ts';
import type { Sql } from '../sql.ts';

/** The loop's journal on MySQL; each verb is one file in `journal/`. */
export class RunJournalRepository implements RunJournal {
  readonly #sql: Sql;
  readonly #options: ClaimOptions;

  constructor(sql: Sql, options: ClaimOptions) {
    this.#sql = sql;
    this.#options = options;
  }

  async claim(runId: RunId, reserveFirst: (loaded: LoadedRun) => NewReservation[]): Promise<ClaimedRun | null> {
    try {
      return await claimRun(this.#sql, this.#options, runId, reserveFirst);
    } catch (error) {
      if (error instanceof QuaestorError && error.code === 'JOURNAL_INVALID') await endUnreadable(this.#sql, this.#options, runId, error);
      throw error;
    }
  }

  settleTurn(fence: Fence, settlement: TurnSettlement): Promise<SettledTurn> {
    return settleTurn(this.#sql, fence, settlement);
  }

  closeTurn(fence: Fence, closing: TurnClosing): Promise<ClosedTurn> {
    return closeTurn(this.#sql, fence, closing);
  }

  beginFinish(fence: Fence, reservation: OpenReservation, position: AttemptPosition): Promise<{ cancelRequested: boolean }> {
    return beginFinish(this.#sql, fence, reservation, position);
  }

  park(fence: Fence): Promise<boolean> {
    return park(this.#sql, fence);
  }

  endRun(fence: Fence, settlement: TurnSettlement | null, ending: RunEnding): Promise<EndedRun> {
    return endRun(this.#sql, fence, settlement, ending);
  }

  async results(fence: Fence, toolCallIds: ToolCallId[]): Promise<Map<ToolCallId, ToolResult>> {
    const rows = await this.#sql.rows('SELECT id, result FROM tool_calls WHERE run_id = ? AND id IN (?)', [fence.runId, toolCallIds]);
    const results = new Map<ToolCallId, ToolResult>();
    for (const row of rows) {
      const result = readResult(row.id as string, row.result as string | null);
      if (result) results.set(row.id as ToolCallId, result);
    }
    return results;
  }

  release(fence: Fence): Promise<OutboxJob[]> {
    return release(this.#sql, fence);
  }
}
