import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '#platform';
import { waitUntil } from '../wait-until.ts';
import { FaultReceipts } from './receipts.ts';

/** A Redis without persistence and without anybody else, which may be killed, emptied and replaced. Its address never changes. */
export class FaultyRedis {
  readonly url: string;
  readonly receipts: FaultReceipts;
  readonly #port: number;
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'faulty-redis-'));
  #server: ChildProcess | undefined;

  static async open(receipts = new FaultReceipts()): Promise<FaultyRedis> {
    const redis = new FaultyRedis(await freePort(), receipts);
    await redis.start();
    return redis;
  }

  private constructor(port: number, receipts: FaultReceipts) {
    this.#port = port;
    this.receipts = receipts;
    this.url = `redis://127.0.0.1:${port}/0`;
  }

  /** Starts it on whatever its folder holds. */
  async start(): Promise<void> {
    const options = ['--port', String(this.#port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.#directory, '--repl-diskless-sync-delay', '0', '--enable-debug-command', 'yes'];
    this.#server = spawn('redis-server', options, { stdio: 'ignore' });
    await waitUntil(() => this.command('PING'), { what: 'Redis' });
  }

  async kill(): Promise<void> {
    const gone = once(this.#server!, 'exit');
    this.#server!.kill('SIGKILL');
    await gone;
    this.receipts.record('sigkill', 'redis', `pid ${this.#server!.pid}`);
  }

  /** Sends one command on a connection of its own and gives the first line of the answer. */
  command(...words: string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#port, '127.0.0.1');
      socket.on('error', reject);
      socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
      socket.once('data', (data) => {
        socket.destroy();
        const [line = ''] = data.toString().split('\r\n', 1);
        if (line.startsWith('-')) reject(new Error(`Redis refused ${words.join(' ')}: ${line}`));
        else resolve(line);
      });
    });
  }

  /** The same as a fault, with its receipt. */
  async inflict(...words: string[]): Promise<void> {
    this.receipts.record(words[0]!.toLowerCase(), 'redis', `${words.slice(1).join(' ')} ${await this.command(...words)}`.trim());
  }

  /** Puts a copy of the data aside; `restore` brings it back. */
  async save(): Promise<void> {
    await this.command('SAVE');
    cpSync(path.join(this.#directory, 'dump.rdb'), path.join(this.#directory, 'older.rdb'));
  }

  /** SIGKILL, and a start on the older copy. */
  async restore(): Promise<void> {
    await this.kill();
    cpSync(path.join(this.#directory, 'older.rdb'), path.join(this.#directory, 'dump.rdb'));
    await this.start();
    this.receipts.record('restore', 'redis', 'an older copy');
  }

  async close(): Promise<void> {
    if (this.#server?.exitCode === null && this.#server.signalCode === null) await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
