/**
 * What a failure says about the work it met.
 * - `conflict`: other transactions were in the way; everything is, or has to be, rolled back and may be done again at once.
 * - `broken`: the connection ended under a statement; without a COMMIT in it nothing is left, with one nobody knows.
 * - `away`: the server takes no work now - it cannot be reached, is full, read-only or shutting down - and nothing was done.
 * - `refused`: a condition that the statement itself carries does not hold.
 * - `other`: an answer about this very statement, or nothing of the database's.
 */
export type SqlFailure = 'conflict' | 'broken' | 'away' | 'refused' | 'other';

/** Deadlock, lock wait (which ends the statement alone), and a snapshot conflict of newer MariaDB. */
const CONFLICTS = new Set([1213, 1205, 1020]);
/** Column cannot be null; duplicate key; out of range; broken CHECK on MySQL and on MariaDB. */
const REFUSED_CONDITIONS = new Set([1048, 1062, 1690, 3819, 4025]);
/** Too many connections, of all or of this user; disk full, twice; table full; out of memory or threads; read-only, twice. */
const AWAY = new Set([1040, 1203, 1021, 1030, 1114, 1037, 1041, 1135, 1290, 1836]);
/** The server said that it ends this connection: shutdown, aborted, killed (MariaDB, MySQL), idle for too long; or that its database was dropped. */
const ENDED_BY_SERVER = new Set([1046, 1053, 1152, 1184, 1927, 3169, 4031]);
const UNREACHABLE = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT']);
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'PROTOCOL_CONNECTION_LOST', 'PROTOCOL_PACKETS_OUT_OF_ORDER']);

export function failureOf(error: unknown): SqlFailure {
  const { errno, code, fatal } = partsOf(error);
  if (errno !== undefined && ENDED_BY_SERVER.has(errno)) return 'broken';
  if (errno !== undefined && CONFLICTS.has(errno)) return 'conflict';
  if (errno !== undefined && REFUSED_CONDITIONS.has(errno)) return 'refused';
  if ((errno !== undefined && AWAY.has(errno)) || (code !== undefined && UNREACHABLE.has(code))) return 'away';
  if (code !== undefined && BROKEN.has(code)) return 'broken';
  // the driver's own words for a connection that is over
  return fatal && errno === undefined && code !== 'ETIMEDOUT' ? 'broken' : 'other';
}

/** Whether the connection can still be used: the server has answered about one statement and means to go on. */
export function isConnectionAlive(error: unknown): boolean {
  const { errno, fatal } = partsOf(error);
  return !fatal && (errno === undefined || (errno > 0 && !ENDED_BY_SERVER.has(errno)));
}

export const isRefusedCondition = (error: unknown): boolean => failureOf(error) === 'refused';
export const isDuplicateKey = (error: unknown): boolean => partsOf(error).errno === 1062;

function partsOf(error: unknown): { errno: number | undefined; code: string | undefined; fatal: boolean } {
  const found: { errno?: unknown; code?: unknown; fatal?: unknown } = typeof error === 'object' && error !== null ? error : {};
  return {
    errno: typeof found.errno === 'number' ? found.errno : undefined,
    code: typeof found.code === 'string' ? found.code : undefined,
    fatal: found.fatal === true,
  };
}
