import mysql, { type Connection, type QueryError } from 'mysql2';
import { connectionOptions, SESSION_SETTINGS } from '../data-source.ts';
import { sendPacket, type Outcome, type Statement } from '../sql.ts';

export interface SweepTurnOptions {
  /** `mysql://user:password@host:port/database` */
  url: string;
  /** Time between two sweeps of whoever has the turn, milliseconds. */
  intervalMs: number;
  /** Longest wait for the turn, seconds; then the packet runs without it. Default 20. */
  waitMaxSeconds?: number;
}

const WAIT_MAX_SECONDS = 20;
/** A holder that was stopped in mid-air loses its connection, and with it the turn. */
const SILENCE_MIN_SECONDS = 5;
const SILENT_INTERVALS = 4;
const ANSWER_MARGIN_MS = 10_000;

interface Held {
  connection: Connection;
  /** Rejects when the connection is of no use any more. */
  lost: PromiseWithResolvers<never>;
}

/**
 * Lets one of many processes look for lost work at a time, at no cost for the others: the turn is a named lock of the server, which they wait
 * for inside the very packet that asks. It passes on when its holder's connection ends, within milliseconds of a kill. Nothing is wrong
 * when two have it: what they find is claimed by conditional updates. Whoever waits in vain looks once all the same.
 */
export class SweepTurn {
  readonly #options: SweepTurnOptions;
  #held: Held | undefined;
  #isClosed = false;

  constructor(options: SweepTurnOptions) {
    this.#options = options;
  }

  /** The outcomes of `statements`, in one packet, once it is this process's turn. Read-only statements: they may run twice. */
  async batch(statements: Statement[]): Promise<Outcome[]> {
    if (this.#isClosed) throw new Error('The turn to sweep was given up.');
    const waitMaxSeconds = this.#options.waitMaxSeconds ?? WAIT_MAX_SECONDS;
    const turn = { sql: `SELECT GET_LOCK(CONCAT('quaestor_sweep_', MD5(DATABASE())), ?) AS taken`, values: [waitMaxSeconds] };
    const held = (this.#held ??= this.#connect());
    // a server behind a dead switch neither answers nor fails
    const late = setTimeout(() => this.#giveUp(held, new Error('The database did not answer a sweep in time.')), waitMaxSeconds * 1_000 + ANSWER_MARGIN_MS);
    try {
      const outcomes = await Promise.race([sendPacket(held.connection, [turn, ...statements]), held.lost.promise]);
      return outcomes.slice(1);
    } catch (error) {
      this.#giveUp(held, error);
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  #connect(): Held {
    const held = { connection: mysql.createConnection(connectionOptions(this.#options.url)), lost: Promise.withResolvers<never>() };
    // heard by a packet that is under way, if any
    held.lost.promise.catch(() => undefined);
    held.connection.on('error', (error) => this.#giveUp(held, error));
    const silenceSeconds = Math.max(SILENCE_MIN_SECONDS, Math.ceil((SILENT_INTERVALS * this.#options.intervalMs) / 1_000));
    held.connection.query(`${SESSION_SETTINGS};SET SESSION wait_timeout = ${silenceSeconds}`, (error: QueryError | null) => {
      if (error) this.#giveUp(held, error);
    });
    return held;
  }

  /** The driver forgets what is under way on a connection that it is told to end: hence the rejection of our own. */
  #giveUp(held: Held, reason: unknown): void {
    if (this.#held === held) this.#held = undefined;
    held.lost.reject(reason);
    held.connection.destroy();
  }

  /** Gives the turn up, also in the middle of a wait, which then fails. Safe to repeat. */
  close(): void {
    this.#isClosed = true;
    if (this.#held) this.#giveUp(this.#held, new Error('The turn to sweep was given up.'));
  }
}
