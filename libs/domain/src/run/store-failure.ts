import { QuaestorError } from '#contracts';

/** A value that does not fit its column, or a packet above `max_allowed_packet`: the same work would meet it again, and be paid again. */
const HOPELESS_STATEMENTS = new Set<unknown>([1153, 1264, 1366, 1406]);

/**
 * An answer of the database or Redis, or a broken connection (the driver marks some of those with `fatal` alone): the work is whole, only its
 * storing failed. Codes that start with `ERR_` are Node's own, for arguments it refuses: a bug here, which no repeat would mend. Adapters of
 * the outside world wrap what they throw in `QuaestorError`, so that a page that cannot be reached is never taken for a store.
 */
export function isStoreFailure(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof QuaestorError) return false;
  if ('errno' in error && HOPELESS_STATEMENTS.has(error.errno)) return false;
  if ('errno' in error || 'sqlState' in error || 'fatal' in error) return true;
  return 'code' in error && typeof error.code === 'string' && !error.code.startsWith('ERR_');
}
