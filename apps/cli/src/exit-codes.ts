import { ERROR_CODES, EXIT_CODES, QuaestorError, STOP_REASONS, type ErrorCode, type RunView } from '#contracts';

const EXIT_INTERNAL = STOP_REASONS.internal_error.exitCode;

/** Codes whose cure is a service that comes back, not another command line. */
const UNAVAILABLE = new Set<ErrorCode>([
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
  'REDIS_UNREACHABLE',
  'DATABASE_UNREACHABLE',
  'LOCAL_SERVICES_UNAVAILABLE',
]);
/** Servers included: one that evicts or cuts values is there, and wants another setting. */
const CONFIGURATION = new Set<ErrorCode>(['CONFIG_INVALID', 'DOCS_FOLDER_INVALID', 'PORT_IN_USE', 'DATABASE_UNSUITABLE', 'REDIS_EVICTS_KEYS']);

/** The exit code of a command that ended with this error. */
export function exitCodeOfError(error: unknown): number {
  if (!(error instanceof QuaestorError)) return EXIT_INTERNAL;
  if (UNAVAILABLE.has(error.code)) return EXIT_CODES.unavailable;
  const { httpStatus } = ERROR_CODES[error.code];
  const isCallersFault = httpStatus >= 400 && httpStatus < 500;
  return isCallersFault || CONFIGURATION.has(error.code) ? EXIT_CODES.usage : EXIT_INTERNAL;
}

/** The exit code of a run that has ended. */
export const exitCodeOfRun = (run: RunView): number => (run.stop_reason ? STOP_REASONS[run.stop_reason].exitCode : EXIT_INTERNAL);
