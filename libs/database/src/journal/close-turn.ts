import { QuaestorError, type ToolCallId, type ToolCallStatus, type ToolResult } from '#contracts';
import type { ClosedTurn, Fence, SettledCall, TurnClosing } from '#domain';
import { createHash } from 'node:crypto';
import { rowsOf, type Outcome, type Row, type Sql, type Statement, type Transaction } from '../sql.ts';
import { compressText } from '../compress.ts';
import { readResult } from './claim.ts';
import { checkFence, lockStatement, type Locked } from './fence.ts';
import { QuickWrites } from './quick-writes.ts';
import { openReservation, readReservation } from './read-settled.ts';
import { RootWrites, toolMessageInsert, type Writes } from './writes.ts';

type Bodies = ReadonlyMap<ToolCallId, Buffer>;

/** See `RunJournal.closeTurn`. Bodies are compressed before anything is locked. Tried in one packet first, as `settleTurn` is. */
export async function closeTurn(sql: Sql, fence: Fence, closing: TurnClosing): Promise<ClosedTurn> {
  const bodies = new Map<ToolCallId, Buffer>();
  for (const call of closing.settled) if (call.source) bodies.set(call.toolCallId, await compressText(call.source.page.text));
  return (await closeQuickly(sql, fence, closing, bodies)) ?? closeCarefully(sql, fence, closing, bodies);
}

async function closeQuickly(sql: Sql, fence: Fence, closing: TurnClosing, bodies: Bodies): Promise<ClosedTurn | null> {
  const writes = new QuickWrites(fence);
  for (const call of closing.settled) {
    if (!call.alreadySettled) writes.add(openCallUpdate(call.toolCallId, call.result));
    settleCall(writes, fence, call, bodies);
  }
  const nextReservation = closing.nextReservation && writes.reserve(closing.nextReservation);
  if (closing.close) writes.add(toolMessageInsert('c.id IN (?)', [closing.close.toolCallIds]));
  const state = await writes.commit(sql, { unheard: unheardOf(closing) });
  return state && { ...state, nextReservation, results: new Map() };
}

async function closeCarefully(sql: Sql, fence: Fence, closing: TurnClosing, bodies: Bodies): Promise<ClosedTurn> {
  const own = closing.settled.filter((call) => !call.alreadySettled).map(({ toolCallId }) => toolCallId);
  const opening = [lockStatement(fence.runId), openOf(own), messagesOf(closing), openReservation(closing.nextReservation?.id)];
  const work = async (tx: Transaction, opened: Outcome[]) => {
    const locked = checkFence(fence, opened);
    const writes = new RootWrites(fence, locked.root);
    if (rowsOf(opened, 2).length > 0) return { lostTo: own, closed: closedBefore(locked, writes, rowsOf(opened, 3)) };
    const open = new Set(rowsOf(opened, 1).map((row) => row.id as ToolCallId));
    for (const call of closing.settled) {
      if (!call.alreadySettled && !open.has(call.toolCallId)) continue;
      if (!call.alreadySettled) writes.add(callUpdate(call.toolCallId, call.result));
      settleCall(writes, fence, call, bodies);
    }
    const nextReservation = closing.nextReservation ? writes.reserve(closing.nextReservation) : null;
    if (closing.close) writes.add(toolMessageInsert('c.id IN (?)', [closing.close.toolCallIds]));
    await tx.batchAndCommit(writes.statements());
    const lostTo = own.filter((toolCallId) => !open.has(toolCallId));
    return { lostTo, closed: { ledger: writes.ledger, nextReservation, cancelRequested: locked.root.cancelRequested, sourceCapReached: writes.sourceCapReached } };
  };
  const { lostTo, closed } = await sql.transaction(opening, work, { unheard: unheardOf(closing) });
  return { ...closed, results: await storedResults(sql, lostTo) };
}

/** A closing that only announces a call which its owner has settled leaves nothing by which a repeat would know it. */
const unheardOf = ({ settled, close }: TurnClosing): 'look' | 'throw' => (close !== null || settled.some((call) => !call.alreadySettled) ? 'look' : 'throw');

/** Tool messages of the turn: they are written by the closing alone, so their being there says that it was committed. */
const messagesOf = ({ close }: TurnClosing): Statement => ({ sql: 'SELECT 1 FROM messages WHERE tool_call_id IN (?) LIMIT 1', values: [['', ...(close?.toolCallIds ?? [])]] });

const closedBefore = (locked: Locked, writes: RootWrites, reservations: Row[]): Omit<ClosedTurn, 'results'> => ({
  ledger: locked.root.ledger,
  nextReservation: reservations.map(readReservation)[0] ?? null,
  cancelRequested: locked.root.cancelRequested,
  sourceCapReached: writes.sourceCapReached,
});

/**
 * Those of the calls that have no result yet, read under the run's lock. The others are left as they are: a call is booked, stored and
 * announced once, by whoever settled it first, or by this very closing when it is repeated after a commit nobody heard of.
 */
const openOf = (toolCallIds: ToolCallId[]): Statement => ({ sql: `SELECT id FROM tool_calls WHERE id IN (?) AND status = 'open'`, values: [['', ...toolCallIds]] });

/** Results of calls that another process settled first. */
async function storedResults(sql: Sql, toolCallIds: ToolCallId[]): Promise<Map<ToolCallId, ToolResult>> {
  if (toolCallIds.length === 0) return new Map();
  return readResults(await sql.rows('SELECT id, status, result FROM tool_calls WHERE id IN (?)', [toolCallIds]));
}

export const statusOf = (result: ToolResult): ToolCallStatus => {
  if (result.kind !== 'error') return 'succeeded';
  return result.code === 'RUN_CANCELLED' ? 'cancelled' : 'failed';
};

function settleCall(writes: Writes, fence: Fence, call: SettledCall, bodies: Bodies): void {
  const body = bodies.get(call.toolCallId);
  if (call.charge) writes.charge(call.charge);
  if (call.killedProcess) writes.add({ sql: 'UPDATE tool_calls SET deaths = deaths + 1 WHERE id = ?', values: [call.toolCallId] });
  if (call.source && body) {
    writes.add(sourceInsert(fence, call, body));
    writes.countSource();
  }
  writes.event(...call.events);
}

/** The first settlement of a call is canonical: a later one changes nothing. */
export const callUpdate = (toolCallId: string, result: ToolResult): Statement => ({
  sql: `UPDATE tool_calls SET status = ?, result = ?, error_code = ?, settled_at = NOW(3) WHERE id = ? AND status = 'open'`,
  values: [statusOf(result), JSON.stringify(result), result.kind === 'error' ? result.code : null, toolCallId],
});

/** As `callUpdate`, but the packet is refused when the call has a result already. */
const openCallUpdate = (toolCallId: string, result: ToolResult): Statement => ({
  sql: `UPDATE tool_calls SET status = IF(status = 'open', ?, NULL), result = ?, error_code = ?, settled_at = NOW(3) WHERE id = ?`,
  values: [statusOf(result), JSON.stringify(result), result.kind === 'error' ? result.code : null, toolCallId],
});

function sourceInsert(fence: Fence, call: SettledCall, body: Buffer): Statement {
  if (!call.source) throw new Error('the call has no source');
  const { id, page } = call.source;
  return {
    sql: `INSERT IGNORE INTO sources (id, tenant_id, root_run_id, run_id, tool_call_id, url, url_sha256, final_url, title, media_type, body_sha256,
      body, chars, extraction, claim_review, fetched_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'not_reviewed', NOW(3))`,
    values: [
      id, fence.tenantId, fence.rootRunId, fence.runId, call.toolCallId, page.url, urlHash(page.url), page.finalUrl.slice(0, 4096),
      page.title.slice(0, 512), page.mediaType, page.bodySha256, body, page.text.length, page.extraction,
    ],
  };
}

export const urlHash = (url: string): string => createHash('sha256').update(url).digest('hex');

function readResults(rows: Row[]): Map<ToolCallId, ToolResult> {
  const results = new Map<ToolCallId, ToolResult>();
  for (const row of rows) {
    const result = readResult(row.id as string, row.result as string | null);
    if (row.status === 'open' || !result) throw new QuaestorError('JOURNAL_INVALID', `Tool call ${row.id} has no result although its turn is being closed.`);
    results.set(row.id as ToolCallId, result);
  }
  return results;
}
