import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import mysql, { type Connection } from 'mysql2/promise';
import { migrateDatabase } from '#database';
import { environment, startLocalServices, statusLocalServices } from '#platform';
import type { TestDatabase } from '../test-services.ts';
import { waitUntil } from '../wait-until.ts';
import { FaultReceipts } from './receipts.ts';

const USER = 'faulty_app';
const PASSWORD = 'only-for-specs';

/**
 * A database server that may be broken as a whole, and a user without any privilege beyond its database. `DATABASE_URL` names one that is
 * there already; its process is then left alone.
 */
export class FaultyDatabase {
  /** `DATABASE_URL` of the plain user. */
  readonly url: string;
  readonly database: TestDatabase;
  readonly receipts = new FaultReceipts();
  readonly #directory: string | null;
  readonly #admin: { current: Connection };
  readonly #adminUrl: string;

  static async open(): Promise<FaultyDatabase> {
    const given = environment()['DATABASE_URL'];
    const directory = given ? null : mkdtempSync(path.join(tmpdir(), 'faulty-database-'));
    const server = given ?? (await startServer(directory!));
    const admin = await mysql.createConnection(new URL('/', server).toString());
    const name = `faults_${process.pid}`;
    const url = new URL(`/${name}`, server).toString();
    await migrateDatabase(url);
    await admin.query(`CREATE USER IF NOT EXISTS '${USER}'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}'`);
    await admin.query(`GRANT ALL PRIVILEGES ON \`${name}\`.* TO '${USER}'@'127.0.0.1'`);
    return new FaultyDatabase(directory, { current: admin }, url);
  }

  private constructor(directory: string | null, admin: { current: Connection }, adminUrl: string) {
    this.#directory = directory;
    this.#admin = admin;
    this.#adminUrl = adminUrl;
    const url = new URL(adminUrl);
    url.username = USER;
    url.password = PASSWORD;
    this.url = url.toString();
    this.database = { url: adminUrl, redisUrl: '', drop: async () => undefined };
  }

  /** Whether the server's process is ours to kill. */
  get isOurs(): boolean {
    return this.#directory !== null;
  }

  async set(variable: 'read_only' | 'max_connections' | 'max_allowed_packet', value: number): Promise<void> {
    await this.#admin.current.query(`SET GLOBAL ${variable} = ${value}`);
    this.receipts.record(variable, 'database', String(value));
  }

  /** Ends the connections of the plain user. */
  async killConnections(): Promise<number> {
    const [rows] = await this.#admin.current.query('SELECT id FROM information_schema.processlist WHERE user = ?', [USER]);
    const ids = (rows as { id: number; ID?: number }[]).map((row) => row.id ?? row.ID);
    for (const id of ids) {
      await this.#admin.current.query(`KILL CONNECTION ${id}`).catch(() => undefined);
      this.receipts.record('kill-connection', 'database', String(id));
    }
    return ids.length;
  }

  /** As a power cut of the server alone: SIGKILL, and a start on the same data and port. */
  async killAndRestart(): Promise<void> {
    const pid = (await statusLocalServices(this.#directory!)).find(({ name }) => name === 'database')?.pid;
    if (pid === undefined) throw new Error('the server has no process of ours');
    process.kill(pid, 'SIGKILL');
    this.receipts.record('sigkill', 'database', `pid ${pid}`);
    await startServer(this.#directory!);
    this.#admin.current.destroy();
    this.#admin.current = await waitUntil(() => mysql.createConnection(this.#adminUrl), { what: 'the server', timeoutMs: 20_000 });
  }

  async close(): Promise<void> {
    await this.#admin.current.query(`DROP DATABASE IF EXISTS \`${new URL(this.#adminUrl).pathname.slice(1)}\``);
    await this.#admin.current.end();
    if (this.#directory === null) return;
    await (await startLocalServices({ directory: this.#directory, env: ownEnvironment() })).stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

const ownEnvironment = () => ({ PATH: environment()['PATH'], REDIS_URL: 'redis://127.0.0.1:1' });
const startServer = async (directory: string): Promise<string> => (await startLocalServices({ directory, env: ownEnvironment() })).databaseUrl;
