import { QuaestorError, type ErrorCode } from '#contracts';

interface FailureRow {
  code: ErrorCode;
  statuses: readonly number[];
  /** Values of a vendor's `error.code` or `error.type`, or a finish reason, that say more than a status. */
  words: readonly string[];
  /** Values that are used loosely: they count only where there is no status. */
  vagueWords?: readonly string[];
  /** For vendors that give a word for many things: the beginning of their message decides. */
  phrases?: RegExp;
  /** What a person can do about it. */
  advice: string;
}

/** OpenAI and vLLM, llama.cpp, Anthropic, Moonshot, Gemini, TGI and Qwen: each says in words of its own that a prompt is too long. */
const TOO_LONG =
  /\b(?:maximum|available|exceeds?(?: the)?|model'?s?) context|context (?:length|window|size|limit)|prompt is too long|exceeded model token limit|input token count|`?inputs`? tokens \+ `?max_new_tokens|range of input length/i;

/** The one table from a vendor's failure to our code. A word is looked up first, then the status, then a vague word. */
const FAILURES: readonly FailureRow[] = [
  { code: 'MODEL_QUOTA_EXHAUSTED', statuses: [402], words: ['insufficient_quota', 'insufficient_balance', 'exceeded_current_quota_error', 'billing_hard_limit_reached', 'billing_error'], phrases: /credit balance is too low|insufficient (?:balance|credit)/i, advice: 'add credit to the account behind MODEL_API_KEY' },
  { code: 'MODEL_UNAUTHORIZED', statuses: [401, 403], words: ['invalid_api_key', 'authentication_error', 'permission_error'], advice: 'check MODEL_API_KEY' },
  { code: 'MODEL_NOT_FOUND', statuses: [404, 410], words: ['model_not_found', 'not_found_error'], advice: 'check MODEL_NAME and MODEL_BASE_URL' },
  { code: 'MODEL_RATE_LIMITED', statuses: [429], words: ['rate_limit_exceeded', 'rate_limit_error', 'rate_limit_reached_error'], advice: 'the call may be repeated later' },
  { code: 'MODEL_CONTEXT_OVERFLOW', statuses: [], words: ['context_length_exceeded', 'exceed_context_size_error'], phrases: TOO_LONG, advice: 'the prompt is longer than the model takes, so lower PROMPT_TOKENS_MAX' },
  { code: 'MODEL_CONTENT_FILTERED', statuses: [], words: ['content_filter', 'content_policy_violation'], advice: 'the vendor filtered the content' },
  { code: 'MODEL_REQUEST_REFUSED', statuses: [400, 413, 422], words: [], vagueWords: ['invalid_request_error'], advice: 'the request does not suit this model' },
  { code: 'MODEL_OVERLOADED', statuses: [408, 409, 500, 502, 503, 504, 529], words: ['overloaded_error', 'engine_overloaded_error', 'insufficient_system_resource'], vagueWords: ['server_error', 'api_error', 'internal_error'], advice: 'the call may be repeated later' },
];

const OTHER_4XX: FailureRow = { code: 'MODEL_REQUEST_REFUSED', statuses: [], words: [], advice: 'the request does not suit this server' };
const OTHER_5XX: FailureRow = { code: 'MODEL_OVERLOADED', statuses: [], words: [], advice: 'the call may be repeated later' };
const NO_ROW: FailureRow = { code: 'MODEL_PROTOCOL_ERROR', statuses: [], words: [], advice: 'check that MODEL_BASE_URL speaks the protocol of MODEL_PROVIDER' };

/** Errors of a socket that was connected: the request may have been taken, and may be billed. */
const AFTER_CONNECT = /^(UND_ERR_SOCKET|UND_ERR_RES_|UND_ERR_BODY|UND_ERR_ABORTED|ECONNRESET|EPIPE|HPE_)/;

const SAMPLE_CHARS_MAX = 200;
/** Shorter keys, such as "none" or "ollama", are no secret, and would blot ordinary words out. */
const SECRET_CHARS_MIN = 8;
const SCANNED_CHARS_MAX = 4_096;
const WORD = /^[\w.-]{1,64}$/;
const KEY_LIKE = /\b(?:Bearer\s+\S+|(?:sk|pk|rk|xai|gsk|key)[-_][\w-]{6,})/gi;

const rowFor = (status: number | undefined, words: readonly string[], text = ''): FailureRow => {
  const byWord = FAILURES.find((row) => row.words.some((word) => words.includes(word)) || row.phrases?.test(text.slice(0, SAMPLE_CHARS_MAX)));
  if (byWord !== undefined) return byWord;
  if (status === undefined) return FAILURES.find((row) => row.vagueWords?.some((word) => words.includes(word))) ?? NO_ROW;
  const byStatus = FAILURES.find((row) => row.statuses.includes(status));
  return byStatus ?? (status >= 500 ? OTHER_5XX : status >= 400 ? OTHER_4XX : NO_ROW);
};

const member = (value: unknown, key: string): unknown => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined);

/** The error object of a JSON body or stream event, in any of the shapes seen: `{error: {...}}`, `{error: "text"}`, `{object: "error", ...}`. */
export function findInBandError(value: unknown): unknown {
  const inner = member(value, 'error');
  if (inner) return inner;
  return member(value, 'object') === 'error' || member(value, 'type') === 'error' ? value : undefined;
}

const errorWords = (error: unknown): string[] => [member(error, 'code'), member(error, 'type')].filter((word) => typeof word === 'string').map((word) => word.toLowerCase());

const errorStatus = (error: unknown): number | undefined => {
  const status = Number(member(error, 'status') ?? member(error, 'code'));
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
};

const errorText = (error: unknown): string => {
  const message = typeof error === 'string' ? error : member(error, 'message');
  return typeof message === 'string' ? message : (JSON.stringify(error) ?? '');
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const ended = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

export interface HttpFailure {
  status: number;
  /** The beginning of the body. */
  body: string;
  retryAfterMs: number | undefined;
  /** The server's own word on another try. It may forbid one; it cannot make a lasting error worth one. */
  shouldRetry?: boolean | undefined;
}

/**
 * Makes the errors of one endpoint. Each message names the host; a sample of what came is cut to 200 characters and never holds the key.
 * `details.accepted` is false when the vendor surely did not take the call, which then costs nothing.
 */
export class ProviderFailures {
  readonly #host: string;
  readonly #secret: string | undefined;

  constructor(host: string, secret: string | undefined) {
    this.#host = host;
    this.#secret = secret;
  }

  /** An answer with a status that is not 200. */
  status(failure: HttpFailure): QuaestorError {
    const parsed = parseJson(failure.body);
    const error = findInBandError(parsed) ?? parsed;
    const row = rowFor(failure.status, errorWords(error), errorText(error));
    const sample = this.sample(error === undefined ? failure.body : errorText(error));
    return new QuaestorError(row.code, `The model server ${this.#host} answered ${failure.status}; ${row.advice}.${sample}`, {
      ...(failure.shouldRetry === false && { retryable: false }),
      retryAfterMs: failure.retryAfterMs,
      details: { ...this.#details(failure.status < 300 || failure.status >= 500), status: failure.status, ...this.#word(error) },
    });
  }

  /** An error object inside a stream or body that began well. */
  inBand(error: unknown): QuaestorError {
    const status = errorStatus(error);
    const row = rowFor(status, errorWords(error), errorText(error));
    return new QuaestorError(row.code, `The model server ${this.#host} reported an error in its answer; ${row.advice}.${this.sample(errorText(error))}`, {
      details: { ...this.#details(true), ...(status !== undefined && { status }), ...this.#word(error) },
    });
  }

  /** A finish reason that is no good end. */
  finishReason(reason: string): QuaestorError {
    const row = rowFor(undefined, [reason.toLowerCase()]);
    return new QuaestorError(row.code, `The model server ${this.#host} ended its answer with the finish reason "${this.#clean(reason)}", which is not a good end.`, {
      details: this.#details(true),
    });
  }

  /** No answer at all: `cause` is what the HTTP client threw. */
  noAnswer(cause: unknown): QuaestorError {
    const reason = this.#causeCode(cause);
    if (AFTER_CONNECT.test(reason)) return this.cut(`closed the connection before it answered (${reason})`, cause);
    return new QuaestorError('MODEL_UNREACHABLE', `The model server ${this.#host} cannot be reached (${reason}); check MODEL_BASE_URL and that the server runs.`, {
      cause,
      details: this.#details(false),
    });
  }

  /** An answer that broke off. */
  cut(what: string, cause?: unknown): QuaestorError {
    return new QuaestorError('MODEL_STREAM_CUT', `The model server ${this.#host} ${what}; the partial answer was set aside.`, { cause, details: this.#details(true) });
  }

  /** A connection that failed while the answer was read. */
  brokenBody(cause: unknown): QuaestorError {
    return this.cut(`broke off its answer (${this.#causeCode(cause)})`, cause);
  }

  /** An answer that is not what the protocol says. */
  protocol(what: string, sample = ''): QuaestorError {
    return new QuaestorError('MODEL_PROTOCOL_ERROR', `The model server ${this.#host} ${what}.${this.sample(sample)}`, { details: this.#details(true) });
  }

  timeout(what: string): QuaestorError {
    return new QuaestorError('MODEL_TIMEOUT', `The model server ${this.#host} ${what}; the call was given up.`, { details: this.#details(true) });
  }

  /** `sent` says whether the request may have left this process. */
  cancelled(sent: boolean): QuaestorError {
    return new QuaestorError('RUN_CANCELLED', `The call to the model server ${this.#host} was cancelled.`, { details: this.#details(sent) });
  }

  /** ` It said: …`, or nothing for a blank text. */
  sample(text: string): string {
    const clean = this.#clean(text);
    return clean === '' ? '' : ` It said: ${ended(clean)}`;
  }

  #clean(text: string): string {
    const oneLine = this.#withoutSecret(text).replace(KEY_LIKE, '[key]').replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
    return oneLine.length <= SAMPLE_CHARS_MAX ? oneLine : `${oneLine.slice(0, SAMPLE_CHARS_MAX - 1)}…`;
  }

  #withoutSecret(text: string): string {
    // Only the beginning is looked at, so that a huge body costs little; a key that the cut divides goes with the end.
    const head = text.slice(0, SCANNED_CHARS_MAX);
    if (this.#secret === undefined || this.#secret.length < SECRET_CHARS_MIN) return head;
    const redacted = head.replaceAll(this.#secret, '[key]');
    return head.length === text.length ? redacted : redacted.slice(0, -this.#secret.length);
  }

  #details(accepted: boolean): { host: string; accepted: boolean } {
    return { host: this.#host, accepted };
  }

  #word(error: unknown): { providerCode?: string } {
    const word = errorWords(error).find((candidate) => WORD.test(candidate) && !this.#holdsSecret(candidate));
    return word === undefined ? {} : { providerCode: word };
  }

  /** Words come in lower case. */
  #holdsSecret(word: string): boolean {
    return this.#secret !== undefined && this.#secret.length >= SECRET_CHARS_MIN && word.includes(this.#secret.toLowerCase());
  }

  #causeCode(cause: unknown): string {
    const code = member(cause, 'code') ?? member(member(cause, 'cause'), 'code');
    return typeof code === 'string' && WORD.test(code) ? code : 'unknown reason';
  }
}
