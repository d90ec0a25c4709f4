import type { MessageView, RunId, TenantId } from '#contracts';
import { BlockAssembler, expandAssistantStream, textOfBlocks } from '#domain';
import { decompressText } from '../compress.ts';
import type { Row, Statement } from '../sql.ts';

/** The answer that a cancel cut off. A run has at most one, and it is kept in its stream alone: no prompt and no report is made from that. */
export const interruptedAnswerOf = (tenantId: TenantId, runId: RunId): Statement => ({
  sql: `SELECT a.id, a.stream, a.settled_at FROM runs r JOIN attempts a ON a.run_id = r.id
    WHERE r.id = ? AND r.tenant_id = ? AND r.root_run_id = r.id AND a.kind = 'message' AND a.outcome = 'interrupted' ORDER BY a.turn DESC, a.attempt DESC LIMIT 1`,
  values: [runId, tenantId],
});

/** What people may still see of it, as the message after `sequenceNo`; null when that is reasoning only. */
export async function toInterruptedView(row: Row, sequenceNo: string): Promise<MessageView | null> {
  const records = JSON.parse(await decompressText(row['stream'] as Buffer, `attempt ${row['id'] as string}`)) as unknown[];
  const assembler = new BlockAssembler();
  for (const { chunk } of expandAssistantStream(records)) assembler.push(chunk);
  const content = textOfBlocks(assembler.interruptedBlocks());
  if (content === '') return null;
  const sequence_no = String(BigInt(sequenceNo) + 1n) as MessageView['sequence_no'];
  return { sequence_no, role: 'assistant', content, is_error: false, interrupted: true, created_at: (row['settled_at'] as Date).toISOString() };
}
