import type { DataSource } from 'typeorm';
import type { FieldPacket, Pool, PoolConnection, QueryError, ResultSetHeader, RowDataPacket } from 'mysql2';
import { crashPoint } from '#planted';
import { formatStatement } from './format-statement.ts';

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

/** Whole transactions are repeated on these: deadlock, lock wait, and (newer MariaDB) a snapshot conflict. */
const REPEATABLE_ERRORS = new Set([1213, 1205, 1020]);
const TRANSACTION_TRIES_MAX = 5;
/** Column cannot be null; duplicate key; out of range; broken CHECK on MySQL and on MariaDB. */
const REFUSED_CONDITIONS = new Set([1048, 1062, 1690, 3819, 4025]);

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
    return run(this.#connection, statements);
  }

  /** The last batch of a transaction: its COMMIT travels in the same packet. */
  async batchAndCommit(statements: Statement[]): Promise<Outcome[]> {
    const outcomes = await run(this.#connection, [...statements, { sql: 'COMMIT' }]);
    this.committed = true;
    return outcomes;
  }

  async rows(sql: string, values: SqlValue[] = []): Promise<Row[]> {
    return rowsOf(await this.batch([{ sql, values }]), 0);
  }
}

export interface SqlOptions {
  /**
   * Longest wait for one statement, batch or try of a transaction, milliseconds; its connection is then given up, as one that broke. A server
   * behind a dead switch neither answers nor fails, and TCP alone gives up after a quarter of an hour. Default: no limit.
   */
  answerTimeoutMs?: number;
}

/**
 * The narrow door to MySQL on hot paths: parameterised statements on TypeORM's own pool, several in one packet, because at 50
 * microseconds a round trip the number of packets is what a turn costs. All values are escaped by the driver.
 */
export class Sql {
  readonly #dataSource: DataSource;
  readonly #answerTimeoutMs: number | undefined;

  constructor(dataSource: DataSource, options: SqlOptions = {}) {
    this.#dataSource = dataSource;
    this.#answerTimeoutMs = options.answerTimeoutMs;
  }

  get #pool(): Pool {
    return (this.#dataSource.driver as unknown as { pool: Pool }).pool;
  }

  async rows(sql: string, values: SqlValue[] = []): Promise<Row[]> {
    return this.#withConnection(async (connection) => rowsOf(await run(connection, [{ sql, values }]), 0));
  }

  async change(sql: string, values: SqlValue[] = []): Promise<Changed> {
    return this.#withConnection(async (connection) => {
      const outcome = (await run(connection, [{ sql, values }]))[0];
      if (outcome === undefined || Array.isArray(outcome)) throw new Error('the statement is not a write');
      return outcome;
    });
  }

  async batch(statements: Statement[]): Promise<Outcome[]> {
    return this.#withConnection((connection) => run(connection, statements));
  }

  /**
   * A whole transaction in one packet. Null when a statement was refused for a condition it carries (a NULL in a NOT NULL column, a broken
   * CHECK, a number out of range, a duplicate key): everything is rolled back then. Repeated as a whole after a deadlock or lock wait.
   */
  async onePacket(statements: Statement[]): Promise<Outcome[] | null> {
    try {
      return await this.#repeated((connection) => transactInOnePacket(connection, statements));
    } catch (error) {
      if (isRefusedCondition(error)) return null;
      throw error;
    }
  }

  /**
   * Runs `work` in one transaction and repeats the whole of it (at most 5 times, with jitter) after a deadlock or lock wait. `opening`
   * statements travel with BEGIN in one packet; their outcomes are handed to `work`. So `work` must do nothing outside it.
   */
  async transaction<Value>(opening: Statement[], work: (tx: Transaction, opened: Outcome[]) => Promise<Value>): Promise<Value> {
    return this.#repeated((connection) => transact(connection, opening, work));
  }

  async #repeated<Value>(work: (connection: PoolConnection) => Promise<Value>): Promise<Value> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#withConnection(work);
      } catch (error) {
        if (!isRepeatable(error) || tries >= TRANSACTION_TRIES_MAX) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * 2 ** tries));
      }
    }
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
      if (isStatementError(error)) connection.release();
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
  try {
    const opened = await run(connection, [{ sql: 'BEGIN' }, ...opening]);
    const value = await work(tx, opened.slice(1));
    if (!tx.committed) await run(connection, [{ sql: 'COMMIT' }]);
    return value;
  } catch (error) {
    if (isConnectionAlive(error)) await run(connection, [{ sql: 'ROLLBACK' }]);
    throw error;
  }
}

async function transactInOnePacket(connection: PoolConnection, statements: Statement[]): Promise<Outcome[]> {
  try {
    const outcomes = await run(connection, [{ sql: 'BEGIN' }, ...statements, { sql: 'COMMIT' }]);
    return outcomes.slice(1, -1);
  } catch (error) {
    if (isConnectionAlive(error)) await run(connection, [{ sql: 'ROLLBACK' }]);
    throw error;
  }
}

function run(connection: PoolConnection, statements: Statement[]): Promise<Outcome[]> {
  const sql = statements.map(formatStatement).join(';');
  return new Promise((resolve, reject) => {
    connection.query(sql, (error: QueryError | null, result: unknown, _fields: FieldPacket[]) => {
      if (error) reject(error);
      else resolve(statements.length === 1 ? [result as Row[] | ResultSetHeader] : (result as (Row[] | ResultSetHeader)[]));
    });
    if (statements.at(-1)?.sql === 'COMMIT') crashPoint('K11');
  });
}

const errorNumber = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'errno' in error && typeof error.errno === 'number' ? error.errno : undefined;

/** An answer of the server about one statement, as opposed to a broken connection (whose errno is negative or a system code). */
const isStatementError = (error: unknown): boolean => {
  const number = errorNumber(error);
  return !(error instanceof Error && 'fatal' in error && error.fatal === true) && (number === undefined || number > 0);
};
const isConnectionAlive = isStatementError;
export const isRefusedCondition = (error: unknown): boolean => REFUSED_CONDITIONS.has(errorNumber(error) ?? 0);
const isRepeatable = (error: unknown): boolean => REPEATABLE_ERRORS.has(errorNumber(error) ?? 0);
export const isDuplicateKey = (error: unknown): boolean => errorNumber(error) === 1062;
