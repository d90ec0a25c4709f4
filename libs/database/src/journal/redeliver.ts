import { toolCallJobId } from '#contracts';
import type { QueueName } from '#contracts';
import type { Transaction } from '../sql.ts';
import type { RootWrites } from './writes.ts';

/** A new job for a call that is open: the delivery number rises first, because a re-add under an id that still exists is ignored. */
export async function redeliver(tx: Transaction, writes: RootWrites, toolCallId: string, queue: QueueName = 'delegations'): Promise<void> {
  const rows = await tx.rows('SELECT delivery FROM tool_calls WHERE id = ? FOR UPDATE', [toolCallId]);
  const delivery = ((rows[0]?.delivery as number | undefined) ?? 0) + 1;
  writes.add({ sql: 'UPDATE tool_calls SET delivery = ?, sent_at = NOW(3) WHERE id = ?', values: [delivery, toolCallId] });
  writes.job({ queue, jobId: toolCallJobId(toolCallId as Parameters<typeof toolCallJobId>[0], delivery), payload: { toolCallId } });
}
