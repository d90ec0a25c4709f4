/**
 * Stable error codes. Route on the code, never on the message. `retryable` says whether the same request may be sent again unchanged;
 * `httpStatus` is what the gateway answers. Adding a code is adding one line here.
 */
export const ERROR_CODES = {
  // requests
  INVALID_REQUEST: { httpStatus: 400, retryable: false },
  QUESTION_EMPTY: { httpStatus: 400, retryable: false },
  QUESTION_TOO_LONG: { httpStatus: 413, retryable: false },
  BODY_TOO_LARGE: { httpStatus: 413, retryable: false },
  UNAUTHORIZED: { httpStatus: 401, retryable: false },
  FORBIDDEN: { httpStatus: 403, retryable: false },
  NOT_FOUND: { httpStatus: 404, retryable: false },
  METHOD_NOT_ALLOWED: { httpStatus: 405, retryable: false },
  THREAD_BUSY: { httpStatus: 409, retryable: false },
  RUN_NOT_RESUMABLE: { httpStatus: 409, retryable: false },
  IDEMPOTENCY_KEY_REUSED: { httpStatus: 422, retryable: false },
  LAST_EVENT_ID_INVALID: { httpStatus: 400, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { httpStatus: 415, retryable: false },
  RATE_LIMITED: { httpStatus: 429, retryable: true },
  SERVICE_UNAVAILABLE: { httpStatus: 503, retryable: true },
  INTERNAL_ERROR: { httpStatus: 500, retryable: false },
  // configuration and local services
  CONFIG_INVALID: { httpStatus: 500, retryable: false },
  DOCS_FOLDER_INVALID: { httpStatus: 400, retryable: false },
  REDIS_UNREACHABLE: { httpStatus: 503, retryable: true },
  REDIS_EVICTS_KEYS: { httpStatus: 500, retryable: false },
  DATABASE_UNREACHABLE: { httpStatus: 503, retryable: true },
  DATABASE_UNSUITABLE: { httpStatus: 500, retryable: false },
  DATABASE_REPLACED: { httpStatus: 503, retryable: true },
  PORT_IN_USE: { httpStatus: 500, retryable: false },
  LOCAL_SERVICES_UNAVAILABLE: { httpStatus: 503, retryable: false },
  // session artifacts
  SESSION_INVALID: { httpStatus: 400, retryable: false },
  SESSION_EXISTS: { httpStatus: 409, retryable: false },
  // runs
  RUN_CANCELLED: { httpStatus: 409, retryable: false },
  ATTEMPT_LOST: { httpStatus: 500, retryable: true },
  LEASE_LOST: { httpStatus: 409, retryable: false },
  TURNS_EXHAUSTED: { httpStatus: 500, retryable: false },
  BUDGET_EXHAUSTED: { httpStatus: 402, retryable: false },
  BUDGET_INSUFFICIENT: { httpStatus: 402, retryable: false },
  QUOTA_EXHAUSTED: { httpStatus: 402, retryable: false },
  OPERATION_UNKNOWN: { httpStatus: 500, retryable: false },
  CALL_REPEATED: { httpStatus: 409, retryable: false },
  LOOP_DETECTED: { httpStatus: 508, retryable: false },
  DEADLINE_REACHED: { httpStatus: 408, retryable: false },
  SOURCE_CAP_REACHED: { httpStatus: 409, retryable: false },
  JOURNAL_INVALID: { httpStatus: 500, retryable: false },
  // models
  MODEL_UNREACHABLE: { httpStatus: 502, retryable: true },
  MODEL_UNAUTHORIZED: { httpStatus: 502, retryable: false },
  MODEL_QUOTA_EXHAUSTED: { httpStatus: 502, retryable: false },
  MODEL_RATE_LIMITED: { httpStatus: 502, retryable: true },
  MODEL_REQUEST_REFUSED: { httpStatus: 502, retryable: false },
  MODEL_CONTEXT_OVERFLOW: { httpStatus: 502, retryable: false },
  MODEL_NOT_FOUND: { httpStatus: 502, retryable: false },
  MODEL_OVERLOADED: { httpStatus: 502, retryable: true },
  MODEL_PROTOCOL_ERROR: { httpStatus: 502, retryable: true },
  MODEL_STREAM_CUT: { httpStatus: 502, retryable: true },
  MODEL_TIMEOUT: { httpStatus: 504, retryable: true },
  MODEL_CONTENT_FILTERED: { httpStatus: 502, retryable: false },
  MODEL_OUTPUT_TRUNCATED: { httpStatus: 502, retryable: true },
  MODEL_EMPTY_ANSWER: { httpStatus: 502, retryable: true },
  // tools
  TOOL_UNKNOWN: { httpStatus: 500, retryable: false },
  TOOL_NOT_DECLARED: { httpStatus: 500, retryable: false },
  TOOL_ARGUMENTS_INVALID: { httpStatus: 500, retryable: false },
  TOOL_TIMEOUT: { httpStatus: 504, retryable: true },
  TOOL_FAILED: { httpStatus: 500, retryable: false },
  TOOL_KILLED_PROCESS: { httpStatus: 500, retryable: false },
  TOOL_OUTCOME_UNKNOWN: { httpStatus: 500, retryable: false },
  DELEGATION_FAILED: { httpStatus: 500, retryable: false },
  DELEGATION_LIMIT_REACHED: { httpStatus: 409, retryable: false },
  SEARCH_FAILED: { httpStatus: 502, retryable: true },
  URL_REFUSED: { httpStatus: 400, retryable: false },
  PAGE_FETCH_FAILED: { httpStatus: 502, retryable: true },
  PAGE_TOO_LARGE: { httpStatus: 502, retryable: false },
  PAGE_UNREADABLE: { httpStatus: 502, retryable: false },
  PAGE_NOT_LOADED: { httpStatus: 404, retryable: false },
  PAGE_OUT_OF_RANGE: { httpStatus: 404, retryable: false },
} as const satisfies Record<string, { httpStatus: number; retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface QuaestorErrorOptions {
  cause?: unknown;
  /** Overrides the code's own answer; the raiser knows best. */
  retryable?: boolean;
  /** Earliest next try, milliseconds from now; a floor, not a promise. */
  retryAfterMs?: number;
  /** Names and ids for logs. Never a secret, a prompt or page text. */
  details?: Record<string, string | number | boolean | null>;
}

/** The one error base. The message is one sentence a person can act on; it may be shown to clients. */
export class QuaestorError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly details: Record<string, string | number | boolean | null>;

  constructor(code: ErrorCode, message: string, options: QuaestorErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'QuaestorError';
    this.code = code;
    this.retryable = options.retryable ?? ERROR_CODES[code].retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details ?? {};
  }
}

/** Closes a switch over a union: a new member makes the build red at every place that must handle it. */
export function assertNever(value: never): never {
  throw new Error(`unhandled value: ${JSON.stringify(value)}`);
}
