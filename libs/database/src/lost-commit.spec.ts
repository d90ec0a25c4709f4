import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from 'node:crypto';
import { endsMysqlReply, TcpProxy, waitUntil } from '#testing';
import type { ApiKeyId, AttemptId, ConversationThreadId, RunId, ToolCallId } from '#contracts';
import type { DataSource } from 'typeorm';
import { openDataSource } from './data-source.ts';
import { ApiKeyRepository } from './repositories/api-key.repository.ts';
import { CancelRepository } from './repositories/cancel.repository.ts';
import { LeaseRepository } from './repositories/lease.repository.ts';
import { OutboxRepository } from './repositories/outbox.repository.ts';
import { RunAcceptanceRepository } from './repositories/run-acceptance.repository.ts';
import { RunJournalRepository } from './repositories/run-journal.repository.ts';
import { ScratchpadWriteRepository } from './repositories/scratchpad.repository.ts';
import { delegationCall, ending, finishReservation, JournalWorld, mint, modelReservation, newSourceId, noteCall, paidCall, settledCall, settlement, workerAnswer } from './spec-support/journal-world.ts';
import { Sql } from './sql.ts';

/** The rows that each unit writes are made twice: once over a healthy way, once with the reply to its COMMIT lost. */
let world: JournalWorld;
let proxy: TcpProxy;
let source: DataSource;
let sql: Sql;
let journal: RunJournalRepository;

beforeAll(async () => {
  world = await JournalWorld.open();
  proxy = await TcpProxy.open(world.database.url);
  source = await openDataSource({ url: proxy.url, connectionLimit: 2 });
  sql = new Sql(source);
  journal = new RunJournalRepository(sql, { owner: 'here', leaseTtlMs: 30_000, randomBytes: () => randomBytes(17) });
});
afterEach(() => proxy.heal());
afterAll(async () => {
  await source?.destroy();
  await proxy?.close();
  await world?.close();
});

const TABLES = ['runs', 'threads', 'messages', 'tool_calls', 'attempts', 'budgets', 'reservations', 'run_events', 'outbox', 'sources', 'scratchpad_entries', 'api_keys', 'assistants'];
const rowCounts = async (): Promise<number[]> => Promise.all(TABLES.map((table) => world.count(table)));

/** How many rows of each table a unit adds. */
async function addedBy(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await rowCounts();
  await work();
  const after = await rowCounts();
  return Object.fromEntries(TABLES.map((table, index) => [table, after[index]! - before[index]!]).filter(([, added]) => added !== 0));
}

interface Unit {
  /** What the reply is cut off from: COMMIT, or the only statement. */
  request?: string;
  prepare(): Promise<() => Promise<unknown>>;
}

const page = { url: 'https://example.org/a', finalUrl: 'https://example.org/a', title: 'A', mediaType: 'text/html', text: 'text', bodySha256: 'b'.repeat(64), extraction: 'html' as const };
const newRun = (idempotencyKey?: { keySha256: string; bodySha256: string }) => ({
  tenantId: world.tenantId, runId: mint<RunId>('run'), threadId: mint<ConversationThreadId>('thr'), question: 'What?', budgetMicrocredits: 1_000_000, deadlineSeconds: 60, sourceCap: 3, workersMax: 2,
  ...(idempotencyKey ? { idempotencyKey } : {}),
});

async function claimedTurn() {
  const runId = await world.newRun();
  const { fence, reservations } = await world.claim(runId, [modelReservation(runId, 1), finishReservation(runId)]);
  const attemptId = mint<AttemptId>('att');
  return { runId, fence, attemptId, charge: { reservation: reservations[0]!, charge: 1_000_000 } };
}

async function openCalls() {
  const { runId, fence, attemptId, charge } = await claimedTurn();
  const { calls } = await world.journal.settleTurn(fence, settlement({ turn: 1, attemptId, charge, calls: [paidCall(attemptId, 0, 'read'), noteCall(attemptId, 1)] }));
  return { runId, fence, read: calls[0]!, note: calls[1]!.toolCallId };
}

const units: Record<string, Unit> = {
  'a new run': {
    prepare: async () => {
      const run = newRun();
      return async () => expect(await new RunAcceptanceRepository(sql).accept(run)).toMatchObject({ kind: 'accepted', runId: run.runId });
    },
  },
  'a new run under a key': {
    prepare: async () => {
      const run = newRun({ keySha256: randomBytes(32).toString('hex'), bodySha256: 'c'.repeat(64) });
      return async () => expect(await new RunAcceptanceRepository(sql).accept(run)).toMatchObject({ kind: 'accepted', runId: run.runId });
    },
  },
  'a settlement in one packet': {
    prepare: async () => {
      const { fence, attemptId, charge } = await claimedTurn();
      return async () => {
        const settled = await journal.settleTurn(fence, settlement({ turn: 1, attemptId, charge, calls: [paidCall(attemptId, 0, 'search'), noteCall(attemptId, 1)] }));
        expect(settled.calls.map(({ status, reservation }) => [status, reservation?.operation])).toEqual([['open', 'search'], ['open', undefined]]);
        expect(settled.jobs).toHaveLength(1);
      };
    },
  },
  'a settlement with delegations': {
    prepare: async () => {
      const { fence, attemptId, charge } = await claimedTurn();
      return async () => {
        const settled = await journal.settleTurn(fence, settlement({ turn: 1, attemptId, charge, calls: [delegationCall(attemptId, 0), delegationCall(attemptId, 1)] }));
        expect([settled.calls.length, settled.jobs.length]).toEqual([2, 2]);
      };
    },
  },
  'a failed attempt': {
    prepare: async () => {
      const { fence, attemptId, charge } = await claimedTurn();
      return async () => expect((await journal.settleTurn(fence, settlement({ turn: 1, attemptId, charge, kind: 'attempt' }))).calls).toEqual([]);
    },
  },
  'the result of one call': {
    prepare: async () => {
      const { fence, read } = await openCalls();
      return () => journal.closeTurn(fence, { settled: [settledCall(read.toolCallId, read.reservation, { id: newSourceId(), page })], close: null, nextReservation: null });
    },
  },
  'the end of a turn': {
    prepare: async () => {
      const { runId, fence, read, note } = await openCalls();
      await new ScratchpadWriteRepository(world.sql).settle(note, { operation: 'append', text: 'noted' });
      return async () => {
        const told = { ...settledCall(note, null), alreadySettled: true, events: [{ type: 'error' as const, code: 'X', message: 'told' }] };
        const closed = await journal.closeTurn(fence, { settled: [settledCall(read.toolCallId, read.reservation), told], close: { toolCallIds: [read.toolCallId, note] }, nextReservation: modelReservation(runId, 2) });
        expect(closed.nextReservation).not.toBeNull();
      };
    },
  },
  'a run that parks': {
    prepare: async () => {
      const { fence, attemptId, charge } = await claimedTurn();
      await world.journal.settleTurn(fence, settlement({ turn: 1, attemptId, charge, calls: [delegationCall(attemptId, 0)] }));
      return async () => expect(await journal.park(fence)).toBe(true);
    },
  },
  'a run that is handed over': {
    prepare: async () => {
      const { fence } = await claimedTurn();
      return () => journal.release(fence);
    },
  },
  'the end of a worker, with its last settlement': {
    prepare: async () => {
      const { workers } = await world.waitingRun(1);
      const { fence, reservations } = await world.claim(workers[0]!, [modelReservation(workers[0]!, 1)]);
      return async () => {
        const ended = await journal.endRun(fence, settlement({ turn: 1, charge: { reservation: reservations[0]!, charge: 1 } }), workerAnswer(workers[0]!));
        expect(ended.jobs.map(({ queue }) => queue)).toEqual(['runs']);
      };
    },
  },
  'the end of a root run': {
    prepare: async () => {
      const { fence } = await claimedTurn();
      return () => journal.endRun(fence, null, ending('answered'));
    },
  },
  'a cancelled run that nobody holds': {
    prepare: async () => {
      const { runId } = await world.waitingRun(1);
      await new CancelRepository(world.sql).request(world.tenantId, runId);
      return () => new CancelRepository(sql).endIdleRuns(runId);
    },
  },
  'a note': {
    prepare: async () => {
      const { note } = await openCalls();
      return () => new ScratchpadWriteRepository(sql).settle(note, { operation: 'append', text: 'a finding' });
    },
  },
  'a tenant': {
    prepare: async () => {
      const setup = { id: world.tenantId, name: 'tenant', assistants: [], apiKey: { id: mint<ApiKeyId>('key'), sha256: randomBytes(32).toString('hex'), shownPrefix: 'qk_' } };
      return () => new ApiKeyRepository(sql).ensureTenant(setup);
    },
  },
  'a cancel': {
    request: 'cancel_requested_at',
    prepare: async () => {
      const runId = await world.newRun();
      return async () => expect(await new CancelRepository(sql).request(world.tenantId, runId)).toBe(true);
    },
  },
  'marks of sent jobs': {
    request: 'DELETE FROM outbox',
    prepare: async () => {
      const runId = await world.newRun();
      return () => new OutboxRepository(sql).markSent([`${runId}.0`]);
    },
  },
  'a heartbeat': {
    request: 'lease_owners',
    prepare: async () => {
      const { runId, fence } = await claimedTurn();
      return async () => expect(await new LeaseRepository(sql, { owner: 'another', leaseTtlMs: 30_000 }).heartbeat([{ runId, leaseEpoch: fence.leaseEpoch }])).toMatchObject([{ held: true }]);
    },
  },
};

describe('[M02] [Q-02] [Q-13] a reply to COMMIT that nobody hears', () => {
  it.each(Object.entries(units))('%s is written once, and its writer goes on with it', async (_name, { request = 'COMMIT', prepare }) => {
    const reference = await addedBy(await prepare());
    const unit = await prepare();
    const landedBefore = proxy.receipts.count('cut-reply');
    proxy.cutReplyTo(request, { isWholeReply: request === 'COMMIT' ? endsMysqlReply : () => true });
    expect(await addedBy(unit)).toEqual(reference);
    expect(proxy.receipts.count('cut-reply')).toBe(landedBefore + 1);
  });

  it('a claim is not made again by whoever did not hear of it: what it took is found and given up', async () => {
    const runId = await world.newRun();
    proxy.cutReplyTo('COMMIT');
    await expect(journal.claim(runId, () => [modelReservation(runId, 1)])).rejects.toMatchObject({ fatal: true });
    proxy.receipts.require('cut-reply');
    const leases = new LeaseRepository(sql, { owner: 'here', leaseTtlMs: 30_000 });
    const leaseEpoch = await waitUntil(() => leases.epochOf(runId), { what: 'the lease that was taken' });
    await leases.abandon([{ runId, leaseEpoch }]);
    const again = await world.claim(runId, [modelReservation(runId, 1, 2)]);
    expect([again.fence.leaseEpoch, again.loaded.attemptsBegun]).toEqual([2, 1]);
    expect(await world.count('attempts', `run_id = ? AND outcome = 'lost'`, [runId])).toBe(1);
  });

  it('[Q-03] whoever lost the run meanwhile is told, and writes nothing a second time', async () => {
    const { runId, fence, attemptId, charge } = await claimedTurn();
    const unit = settlement({ turn: 1, attemptId, charge });
    await world.journal.settleTurn(fence, unit);
    await world.lapse(runId);
    await world.claim(runId, [], world.journalOf('successor'));
    await expect(journal.settleTurn(fence, unit)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await world.count('attempts', 'run_id = ?', [runId])).toBe(1);
  });

  it('a connection that breaks before the COMMIT leaves nothing, and the whole unit is written again', async () => {
    const { fence, attemptId, charge, runId } = await claimedTurn();
    // in the careful way the lock travels first: it is answered, and nothing after it
    proxy.cutReplyTo('FOR UPDATE', { isWholeReply: () => true });
    const settled = await journal.settleTurn(fence, settlement({ turn: 1, attemptId, charge, calls: [delegationCall(attemptId, 0)] }));
    proxy.receipts.require('cut-reply');
    expect(settled.calls).toHaveLength(1);
    expect(await world.count('tool_calls', 'run_id = ?', [runId])).toBe(1);
    const child = await world.one<ToolCallId>('SELECT parent_tool_call_id FROM runs WHERE parent_run_id = ?', [runId]);
    expect(child).toBe(settled.calls[0]!.toolCallId);
  });
});
