import { randomBytes } from 'node:crypto';
import mysql, { type Connection } from 'mysql2/promise';
import type { DataSource } from 'typeorm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptId, RunId } from '#contracts';
import type { Fence } from '#domain';
import { FaultyDatabase, TcpProxy, waitUntil } from '#testing';
import { openDataSource } from './data-source.ts';
import { RunJournalRepository } from './repositories/run-journal.repository.ts';
import { ending, JournalWorld, mint, noteCall, settlement } from './spec-support/journal-world.ts';
import { Sql } from './sql.ts';

const RUNS = 6;
const TURNS = 8;

let server: FaultyDatabase;
let world: JournalWorld;
let proxy: TcpProxy;
let source: DataSource;
let sql: Sql;
const blockers: Connection[] = [];

beforeAll(async () => {
  server = await FaultyDatabase.open();
  world = await JournalWorld.open(4, server.database);
  proxy = await TcpProxy.open(server.url, { receipts: server.receipts });
  source = await openDataSource({ url: proxy.url, connectionLimit: 4 });
  sql = new Sql(source, { patienceMs: 15_000 });
}, 120_000);
afterEach(async () => {
  await proxy.heal();
  for (const blocker of blockers.splice(0)) blocker.destroy();
});
afterAll(async () => {
  await source?.destroy();
  await proxy?.close();
  await world?.close();
  await server?.close();
}, 60_000);

/** Runs that are held, each to be taken through all of its turns to its end by `advance`. */
const heldRuns = (): Promise<Fence[]> => Promise.all(Array.from({ length: RUNS }, async () => (await world.claim(await world.newRun({ budgetCredits: 1_000 }))).fence));

async function advance(fences: Fence[], journal = new RunJournalRepository(sql, { owner: 'here', leaseTtlMs: 30_000, randomBytes: () => randomBytes(17) })): Promise<void> {
  await Promise.all(
    fences.map(async (fence) => {
      for (let turn = 1; turn <= TURNS; turn++) {
        const attemptId = mint<AttemptId>('att');
        await journal.settleTurn(fence, settlement({ turn, attemptId, calls: turn % 2 === 0 ? [] : [noteCall(attemptId, 0)] }));
      }
      await journal.endRun(fence, null, ending('answered'));
    }),
  );
}

/** Every turn of every run is there once, with dense events, and every run has ended. */
async function expectWhole(fences: Fence[]): Promise<void> {
  const ids = fences.map(({ runId }) => runId);
  const rows = await world.sql.rows(
    `SELECT r.status, r.turn, (SELECT COUNT(*) FROM attempts a WHERE a.run_id = r.id) AS attempts, (SELECT COUNT(*) FROM messages m WHERE m.run_id = r.id AND m.role = 'assistant') AS answers,
      (SELECT COUNT(*) FROM outbox o WHERE o.payload LIKE CONCAT('%', (SELECT MAX(c.id) FROM tool_calls c WHERE c.run_id = r.id), '%')) AS last_jobs,
      (SELECT COUNT(*) FROM run_events e WHERE e.root_run_id = r.id) - r.event_seq AS holes FROM runs r WHERE r.id IN (?)`,
    [ids],
  );
  expect(rows.map((row) => [row['status'], row['turn'], Number(row['attempts']), Number(row['answers']), Number(row['last_jobs']), Number(row['holes'])])).toEqual(ids.map(() => ['completed', TURNS, TURNS, TURNS, 1, 0]));
}

/** Does `fault` again and again while the runs go on, at least `times` times. */
async function under(fault: () => Promise<unknown> | unknown, times = 3, pauseMs = 100): Promise<void> {
  const progress = { done: false, faults: 0 };
  const loop = (async () => {
    while (!progress.done) {
      await fault();
      progress.faults++;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  })();
  try {
    while (progress.faults < times) {
      const fences = await heldRuns();
      await advance(fences);
      await expectWhole(fences);
    }
  } finally {
    progress.done = true;
    await loop;
  }
}

describe('[Q-01] [Q-02] units of work under faults of the database', () => {
  it('[M11] connections that are killed every 100 ms', async () => {
    await under(() => server.killConnections(), 8);
    server.receipts.require('kill-connection', 8);
  });

  it('[N02] connections that are reset in mid-query', async () => {
    await under(() => proxy.reset(), 20, 15);
    server.receipts.require('reset', 8);
  });

  it('[N03] packets of one byte, late and in pieces', async () => {
    proxy.poison({ sliceBytes: 1, latencyMs: 1, jitterMs: 2 });
    proxy.reset();
    const fences = await heldRuns();
    await advance(fences);
    await expectWhole(fences);
    server.receipts.require('slice');
  });

  it('[M01] [M10] a server that is killed and started again, with idle connections in the pool', async (context) => {
    if (!server.isOurs) return context.skip();
    await Promise.all(Array.from({ length: 4 }, () => sql.rows('SELECT SLEEP(0.05)')));
    const fences = await heldRuns();
    const work = advance(fences);
    await server.killAndRestart();
    await work;
    await expectWhole(fences);
    server.receipts.require('sigkill');
  }, 60_000);

  it('[M08] a server that is read-only for a while', async () => {
    const fences = await heldRuns();
    await server.set('read_only', 1);
    const failed = advance(fences, new RunJournalRepository(new Sql(source), { owner: 'here', leaseTtlMs: 30_000, randomBytes: () => randomBytes(17) }));
    await expect(failed).rejects.toMatchObject({ errno: 1290 });
    const work = advance(fences);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await server.set('read_only', 0);
    await work;
    await expectWhole(fences);
  });

  it('[M09] a server without a free connection, for a while', async () => {
    const fences = await heldRuns();
    await server.set('max_connections', 10);
    try {
      await proxy.down();
      await proxy.heal();
      await waitUntil(async () => {
        blockers.push(await mysql.createConnection(server.url));
        return false;
      }, { what: 'the last connection', timeoutMs: 5_000, intervalMs: 1 }).catch(() => undefined);
    } finally {
      const patient = advance(fences);
      await expect(new Sql(source).rows('SELECT 1')).rejects.toMatchObject({ errno: 1040 });
      for (const blocker of blockers.splice(0)) blocker.destroy();
      await patient;
      await server.set('max_connections', 200);
    }
    await expectWhole(fences);
  });

  it('[M06] a packet above the limit is refused by name, and never tried without end', async () => {
    await server.set('max_allowed_packet', 1024 * 1024);
    const small = await openDataSource({ url: server.url, connectionLimit: 1 });
    try {
      const { fence } = await world.claim(await world.newRun());
      const journal = new RunJournalRepository(new Sql(small, { patienceMs: 15_000 }), { owner: 'here', leaseTtlMs: 30_000, randomBytes: () => randomBytes(17) });
      const large = settlement({ turn: 1 });
      await expect(journal.settleTurn(fence, { ...large, message: { content: 'x'.repeat(3 * 1024 * 1024), reasoning: null, vendor: 'test:test/test' } })).rejects.toMatchObject({ errno: 1153, message: expect.stringContaining('max_allowed_packet') as string });
      expect(await world.count('attempts', 'run_id = ?', [fence.runId])).toBe(0);
    } finally {
      await server.set('max_allowed_packet', 64 * 1024 * 1024);
      await small.destroy();
    }
  });
});

describe('[Q-12] transactions that meet each other', () => {
  const lock = (runId: RunId) => ({ sql: 'SELECT id FROM runs WHERE id = ? FOR UPDATE', values: [runId] });

  it('[M03] a deadlock rolls one of them back as a whole, and it is done again', async () => {
    const [one, two] = [await world.newRun(), await world.newRun()];
    let tries = 0;
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const work = (mine: number, [first, second]: [RunId, RunId]) =>
      sql.transaction([lock(first)], async (tx) => {
        tries++;
        both[mine]!.resolve();
        await Promise.all(both.map(({ promise }) => promise));
        await tx.batchAndCommit([lock(second), { sql: 'UPDATE runs SET workers_max = workers_max + 1 WHERE id = ?', values: [first] }]);
      });
    await Promise.all([work(0, [one, two]), work(1, [two, one])]);
    expect(tries).toBe(3);
    expect(await world.sql.rows('SELECT workers_max FROM runs WHERE id IN (?)', [[one, two]])).toEqual([{ workers_max: 5 }, { workers_max: 5 }]);
  });

  it('[M04] a lock wait that runs out leaves nothing of its transaction behind', async () => {
    const runId = await world.newRun();
    const holder = await mysql.createConnection(server.url);
    blockers.push(holder);
    await holder.query('BEGIN');
    await holder.query('SELECT id FROM runs WHERE id = ? FOR UPDATE', [runId]);
    let tries = 0;
    await sql.transaction([{ sql: 'SET SESSION innodb_lock_wait_timeout = 1' }, { sql: `INSERT INTO meta (name, value) VALUES ('m04', 'once')` }], async (tx) => {
      if (++tries === 2) await holder.query('ROLLBACK');
      await tx.batchAndCommit([lock(runId)]);
    });
    expect(tries).toBe(2);
    expect(await world.count('meta', `name = 'm04'`)).toBe(1);
  });
});
