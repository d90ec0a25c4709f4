/** Every bound and default of the engine, in one place. A name ends in its unit. Sources: docs/decisions and docs/architecture.md. */

/** Turns of a worker run when its assistant says nothing else; `RESEARCH_WORKER_MAX_TURNS` overrides it. */
export const WORKER_TURNS_MAX = 8;
export const SUPERVISOR_TURNS_MAX = 12;
/** Delegations one run may make in all; a further one is refused with an error result. */
export const DELEGATIONS_PER_RUN_MAX = 32;
/** Workers of one run that may be open at once; more calls in one turn are still accepted and queue behind them. */
export const WORKERS_PARALLEL_DEFAULT = 4;
export const WORKERS_PARALLEL_MAX = 64;

export const BUDGET_CREDITS_DEFAULT = 100;
export const BUDGET_CREDITS_MAX = 1_000_000;
export const DEADLINE_SECONDS_DEFAULT = 900;
export const DEADLINE_SECONDS_MAX = 86_400;
export const SOURCE_CAP_DEFAULT = 20;
export const SOURCE_CAP_MAX = 1_000;

export const QUESTION_CHARS_MAX = 20_000;
/** Largest HTTP request body the gateway reads; above it the answer is 413. */
export const REQUEST_BODY_BYTES_MAX = 256 * 1024;

/** Tool arguments longer than this are an error result; they are never parsed. */
export const TOOL_ARGUMENTS_BYTES_MAX = 64 * 1024;
/** The same call again: answered from the record the second time, warned of and at last stopped at these counts. */
export const SAME_CALL_WARNS_AT = 3;
export const SAME_CALL_STOPS_AT = 4;
export const TOOL_CALLS_PER_TURN_MAX = 64;
/** A web query or a phrase to look for on a page. */
export const TOOL_QUERY_CHARS_MAX = 400;
export const TOOL_URL_CHARS_MAX = 2_048;
/** The task of one delegation, and likewise its requirements. */
export const DELEGATION_TASK_CHARS_MAX = 8_000;
export const NOTE_CHARS_MAX = 16_000;
/** The overwritable body of a scratchpad. */
export const SCRATCHPAD_BODY_CHARS_MAX = 64_000;

export const PAGE_CHARS_DEFAULT = 8_000;
export const SEARCH_HITS_MAX = 10;
export const PAGE_MATCHES_MAX = 15;
export const PAGE_MATCH_CONTEXT_CHARS = 150;

export const ATTEMPTS_PER_TURN_MAX = 3;
export const MODEL_IDLE_TIMEOUT_MS = 90_000;
export const MODEL_CALL_TIMEOUT_MS = 600_000;
export const MODEL_OUTPUT_TOKENS_MAX = 4_096;

export const LEASE_TTL_MS = 3_000;
/** Below a third of the lease; also how long a cancel may go unheard while Redis is away. */
export const HEARTBEAT_INTERVAL_MS = 800;
export const SWEEP_INTERVAL_MS = 1_000;
export const DRAIN_GRACE_MS = 10_000;

export const SSE_HEARTBEAT_MS = 10_000;
export const SSE_BUFFER_BYTES_MAX = 1024 * 1024;

export const MICROCREDITS_PER_CREDIT = 1_000_000;
