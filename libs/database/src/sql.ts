import type { DataSource } from 'typeorm';
import type { FieldPacket, Pool, PoolConnection, QueryError, ResultSetHeader, RowDataPacket } from 'mysql2';
import { crashPoint } from '#planted';
import { formatStatement } from './format-statement.ts';
import { failureOf, isConnectionAlive } from './sql-failure.ts';

export type SqlValue = string | number | bigint | boolean | Date | Buffer | null | SqlValue[] | SqlValue[][];
export interface Statement {
  sql: string;
  values?: SqlValue[];
}
export type Row = RowDataPacket;
export interface Changed {
  affectedRows: number;
}
/** What one statement gave: rows of a SELECT, or the change count of a write. */
export type Outcome = Row[] | Changed;

/** Of one unit of work; those within its patience do not count. */
const TRIES_MAX = 5;
const AWAY_WAIT_FIRST_MS = 25;
const AWAY_WAIT_MAX_MS = 500;
/** Smaller packets than this are above no server's `max_allowed_packet`. */
const LARGE_PACKET_CHARS = 500_000;

/** Rows of the statement at `index`; a write there is a programming error. */
export function rowsOf(outcomes: Outcome[], index: number): Row[] {
  const outcome = outcomes[index];
  if (!Array.isArray(outcome)) throw new Error(`statement ${index} gave no rows`);
  return outcome;
}

export function affectedBy(outcomes: Outcome[], index: number): number {
  const outcome = outcomes[index];
  if (outcome === undefined || Array.isArray(outcome)) throw new Error(`statement ${index} changed nothing by design`);
  return outcome.affectedRows;
}

/** One open transaction. Statements of one `batch` travel in one packet and run in order; a failing one ends the batch with its error. */
export class Transaction {
  readonly #connection: PoolConnection;
  /** Set once COMMIT rode along with a batch, so that the caller does not commit twice. */
  committed = false;

  constructor(connection: PoolConnection) {
    this.#connection = connection;
  }

  batch(statements: Statement[]): Promise<Outcome[]> {
    return sendPacket(this.#connection, statements);
  }

  /** The last batch of a transaction: its COMMIT travels in the same packet. */
  async batchAndCommit(statements: Statement[]): Promise<Outcome[]> {
    const outcomes = await sendPacket(this.#connection, [...statements, { sql: 'COMMIT' }]);
    this.committed = true;
    return outcomes;
  }

  async rows(sql: string, values: SqlValue[] = []): Promise<Row[]> {
    return rowsOf(await this.batch([{ sql, values }]), 0);
  }
}

export interface UnitOptions {
  /**
   * What follows when the connection broke and COMMIT may have been carried out all the same. `look`: the unit is done again, and looks for
   * what an earlier try committed before it writes anything. `throw`: it is for the caller to find out. Default `look`.
   */
  unheard?: 'look' | 'throw';
}

export interface SqlOptions {
  /**
   * Longest wait for one statement, batch or try of a transaction, milliseconds; its connection is then given up, as one that broke. A server
   * behind a dead switch neither answers nor fails, and TCP alone gives up after a quarter of an hour. Default: no limit.
   */
  answerTimeoutMs?: number;
  /** How long work is tried again while the server takes none: away, restarting, read-only, full, without a free connection. Default 0. */
  patienceMs?: number;
}

/**
 * The narrow door to MySQL on hot paths: parameterised statements on TypeORM's own pool, several in one packet, because at 50
 * microseconds a round trip the number of packets is what a turn costs. All values are escaped by the driver.
 */
export class Sql {
  readonly #dataSource: DataSource;
  readonly #answerTimeoutMs: number | undefined;
  readonly #patienceMs: number;

  constructor(dataSource: DataSource, options: SqlOptions = {}) {
    this.#dataSource = dataSource;
    this.#answerTimeoutMs = options.answerTimeoutMs;
    this.#patienceMs = options.patienceMs ?? 0;
  }

  get #pool(): Pool {
    return (this.#dataSource.driver as unknown as { pool: Pool }).pool;
  }

  async rows(sql: string, values: SqlValue[] = []): Promise<Row[]> {
    return rowsOf(await this.batch([{ sql, values }]), 0);
  }

  /** One write, repeated when its connection broke: it must be one that changes nothing the second time. */
  async change(sql: string, values: SqlValue[] = []): Promise<Changed> {
    const outcome = (await this.batch([{ sql, values }]))[0];
    if (outcome === undefined || Array.isArray(outcome)) throw new Error('the statement is not a write');
    return outcome;
  }

  /** Statements in one packet, each committed on its own; repeated as `change` is. */
  async batch(statements: Statement[]): Promise<Outcome[]> {
    return this.#repeated((connection) => sendPacket(connection, statements), 'look');
  }

  /**
   * A whole transaction in one packet. Null when nothing may be left of it: a statement was refused for a condition it carries (a NULL in a
   * NOT NULL column, a broken CHECK, a number out of range, a duplicate key), or its connection broke and nobody knows. The caller then
   * takes another way, which looks first.
   */
  async onePacket(statements: Statement[], { unheard = 'look' }: UnitOptions = {}): Promise<Outcome[] | null> {
    try {
      return await this.#repeated((connection) => transactInOnePacket(connection, statements), 'throw');
    } catch (error) {
      const failure = failureOf(error);
      if (failure === 'refused' || (failure === 'broken' && unheard === 'look')) return null;
      throw error;
    }
  }

  /**
   * Runs `work` in one transaction. `opening` statements travel with BEGIN in one packet; their outcomes are handed to `work`. The whole of
   * it is repeated (at most 5 times, with jitter) after a deadlock, a lock wait or a broken connection, and for as long as the
   * patience allows while connections break or the server takes no work. So `work` must do nothing outside it, and look first what an earlier try has left.
   */
  async transaction<Value>(opening: Statement[], work: (tx: Transaction, opened: Outcome[]) => Promise<Value>, { unheard = 'look' }: UnitOptions = {}): Promise<Value> {
    return this.#repeated((connection) => transact(connection, opening, work), unheard);
  }

  async #repeated<Value>(work: (connection: PoolConnection) => Promise<Value>, unheard: 'look' | 'throw'): Promise<Value> {
    const untilMs = performance.now() + this.#patienceMs;
    for (let tries = 1, waits = 0; ; ) {
      try {
        return await this.#withConnection(work);
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'away' && performance.now() < untilMs) {
          await pause(Math.min(AWAY_WAIT_MAX_MS, AWAY_WAIT_FIRST_MS * 2 ** waits++));
          continue;
        }
        const mayRepeat = failure === 'conflict' || (failure === 'broken' && unheard === 'look');
        if (failure === 'broken') await this.#refuseLargePacket(error);
        const isPatient = failure === 'broken' && performance.now() < untilMs;
        if (!mayRepeat || (tries++ >= TRIES_MAX && !isPatient)) throw error;
        await pause(5 * 2 ** Math.min(tries, TRIES_MAX));
      }
    }
  }

  /** A server ends the connection that brings it more than it allows: the same packet would break every other one too. */
  async #refuseLargePacket(error: unknown): Promise<void> {
    const chars = error instanceof Error && 'packetChars' in error ? Number(error.packetChars) : 0;
    if (chars < LARGE_PACKET_CHARS) return;
    const allowed = await this.#withConnection(async (connection) => Number(rowsOf(await sendPacket(connection, [{ sql: 'SELECT @@GLOBAL.max_allowed_packet AS bytes' }]), 0)[0]?.bytes));
    if (chars < allowed) return;
    throw Object.assign(new Error(`${chars} characters for one row are above the database's max_allowed_packet of ${allowed} bytes: raise it.`), { errno: 1153, code: 'ER_NET_PACKET_TOO_LARGE', cause: error });
  }

  async #withConnection<Value>(work: (connection: PoolConnection) => Promise<Value>): Promise<Value> {
    const connection = await new Promise<PoolConnection>((resolve, reject) =>
      this.#pool.getConnection((error: NodeJS.ErrnoException | null, taken: PoolConnection) => (error ? reject(error) : resolve(taken))),
    );
    try {
      const value = await this.#inTime(work(connection));
      connection.release();
      return value;
    } catch (error) {
      // a connection whose transaction may be open, or whose peer died, never goes back to the pool
      if (isConnectionAlive(error)) connection.release();
      else connection.destroy();
      throw error;
    }
  }

  async #inTime<Value>(work: Promise<Value>): Promise<Value> {
    const timeoutMs = this.#answerTimeoutMs;
    if (timeoutMs === undefined) return work;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(Object.assign(new Error(`The database did not answer within ${timeoutMs} ms.`), { code: 'ETIMEDOUT', fatal: true })), timeoutMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function transact<Value>(
  connection: PoolConnection,
  opening: Statement[],
  work: (tx: Transaction, opened: Outcome[]) => Promise<Value>,
): Promise<Value> {
  const tx = new Transaction(connection);
  return rolledBack(connection, async () => {
    const opened = await sendPacket(connection, [{ sql: 'BEGIN' }, ...opening]);
    const value = await work(tx, opened.slice(1));
    if (!tx.committed) await sendPacket(connection, [{ sql: 'COMMIT' }]);
    return value;
  });
}

const transactInOnePacket = (connection: PoolConnection, statements: Statement[]): Promise<Outcome[]> =>
  rolledBack(connection, async () => (await sendPacket(connection, [{ sql: 'BEGIN' }, ...statements, { sql: 'COMMIT' }])).slice(1, -1));

/** A lock wait that ran out, for one, ends a statement and leaves its transaction open. */
async function rolledBack<Value>(connection: PoolConnection, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (isConnectionAlive(error)) await sendPacket(connection, [{ sql: 'ROLLBACK' }]);
    throw error;
  }
}

/** Up to `ms` by chance, so that whoever failed together does not come back together. */
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.random() * ms));

/** Statements in one packet, with one outcome each. */
export function sendPacket(connection: Pick<PoolConnection, 'query'>, statements: Statement[]): Promise<Outcome[]> {
  const sql = statements.map(formatStatement).join(';');
  return new Promise((resolve, reject) => {
    connection.query(sql, (error: QueryError | null, result: unknown, _fields: FieldPacket[]) => {
      if (error) reject(Object.assign(error, { packetChars: sql.length }));
      else resolve(statements.length === 1 ? [result as Row[] | ResultSetHeader] : (result as (Row[] | ResultSetHeader)[]));
    });
    if (statements.at(-1)?.sql === 'COMMIT') crashPoint('K11');
  });
}
