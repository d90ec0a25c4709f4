import { ERROR_CODES, QuaestorError, type ErrorCode, type ErrorView } from '#contracts';
import { HttpException } from '@nestjs/common';

/** An error as it is answered. Nothing but these fields reaches a client. */
export interface Problem {
  code: ErrorCode;
  message: string;
  param: string | null;
  retryAfterSeconds: number | null;
  /** True for what an operator has to look at. */
  unexpected: boolean;
}

const CODE_BY_STATUS: Record<number, [ErrorCode, string]> = {
  400: ['INVALID_REQUEST', 'The request is not valid.'],
  401: ['UNAUTHORIZED', 'A valid API key is needed: send it as "Authorization: Bearer qk_...".'],
  403: ['FORBIDDEN', 'This key may not do that.'],
  404: ['NOT_FOUND', 'There is nothing at this address.'],
  405: ['METHOD_NOT_ALLOWED', 'This address does not know that method.'],
  408: ['INVALID_REQUEST', 'The request did not arrive in time.'],
  413: ['BODY_TOO_LARGE', 'The request body is too large.'],
  // an id that is longer than any id
  414: ['NOT_FOUND', 'There is nothing at this address.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The request body must be JSON: send "Content-Type: application/json".'],
};

const DATABASE_DOWN_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'PROTOCOL_CONNECTION_LOST', 'PROTOCOL_SEQUENCE_TIMEOUT']);
/** Too many connections, server shutting down, read-only, lock wait and deadlock beyond all repeats. */
const DATABASE_BUSY_NUMBERS = new Set([1040, 1053, 1205, 1213, 1290, 1836]);
const RETRY_AFTER_SECONDS = 1;

/** What to answer for anything that was thrown. Pure; the message of an unknown error is never shown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof QuaestorError) return ownProblem(error);
  if (isDatabaseDown(error)) {
    return { ...plain('SERVICE_UNAVAILABLE', 'The database cannot be reached at the moment: try again shortly.'), retryAfterSeconds: RETRY_AFTER_SECONDS };
  }
  if (statusOf(error) === 503) return { ...plain('SERVICE_UNAVAILABLE', 'The answer took too long: try again shortly.'), retryAfterSeconds: RETRY_AFTER_SECONDS };
  const known = CODE_BY_STATUS[statusOf(error) ?? 0];
  if (known) return plain(...known);
  const status = statusOf(error);
  if (status !== undefined && status < 500) return plain('INVALID_REQUEST', 'The request is not valid.');
  return { ...plain('INTERNAL_ERROR', 'Something went wrong on our side; the request id finds it in the logs.'), unexpected: true };
}

const plain = (code: ErrorCode, message: string): Problem => ({ code, message, param: null, retryAfterSeconds: null, unexpected: false });

function ownProblem(error: QuaestorError): Problem {
  const retryAfterSeconds = error.retryAfterMs === undefined ? null : Math.ceil(error.retryAfterMs / 1_000);
  const param = error.details['param'];
  return {
    code: error.code,
    message: error.message,
    param: typeof param === 'string' ? param : null,
    retryAfterSeconds: retryAfterSeconds ?? (ERROR_CODES[error.code].httpStatus === 503 ? RETRY_AFTER_SECONDS : null),
    unexpected: ERROR_CODES[error.code].httpStatus === 500,
  };
}

function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined;
}

/** A connection that failed, or a server that is not able to serve; as opposed to a statement that is wrong. */
export function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errno, fatal } = error as { code?: unknown; errno?: unknown; fatal?: unknown };
  return fatal === true || (typeof code === 'string' && DATABASE_DOWN_CODES.has(code)) || (typeof errno === 'number' && DATABASE_BUSY_NUMBERS.has(errno));
}

export const toErrorView = (problem: Problem, requestId: string): ErrorView => ({
  error: { code: problem.code, message: problem.message, param: problem.param, request_id: requestId },
});
