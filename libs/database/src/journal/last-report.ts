import type { RunId } from '#contracts';
import { findingsReport, flagReport, type RunEnding } from '#domain';
import type { Transaction } from '../sql.ts';

/**
 * The report of a root run that ends without one, because nobody holds it or because it broke: what its workers had found, as it stands,
 * under a notice of why there is no more. Whatever ends a run, its findings can be read.
 */
export async function lastReport(tx: Transaction, rootRunId: RunId, { report, stopReason, limitsHit }: RunEnding): Promise<string> {
  if (report !== null) return report;
  const rows = await tx.rows(
    `SELECT e.text FROM runs r JOIN scratchpad_entries e ON e.thread_id = r.scratchpad_thread_id WHERE r.id = ? AND e.kind = 'finding' ORDER BY e.sequence_no`,
    [rootRunId],
  );
  return flagReport(findingsReport(rows.map((row) => row.text as string)), { stopReason, limitsHit, failures: [], missing: [] });
}
