import {
  BUDGET_CREDITS_DEFAULT,
  DEADLINE_SECONDS_DEFAULT,
  MICROCREDITS_PER_CREDIT,
  QUESTION_CHARS_MAX,
  QuaestorError,
  SOURCE_CAP_DEFAULT,
  WORKERS_PARALLEL_DEFAULT,
  type ConversationThreadId,
  type CreateRunRequest,
  type ForkRunRequest,
  type HostPolicy,
  type RunId,
  type TenantId,
} from '#contracts';
import type { IdempotencyKey, NewFork, NewRun } from '#database';
import { mintId, stripControlCharacters } from '#domain';
import { randomBytes } from 'node:crypto';
import { sha256Hex } from '../auth/api-key.ts';

/** Printable ASCII, as a header can carry it. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * The question as it is stored: control and invisible characters are gone, the rest stays as it was written.
 * @throws QuaestorError `QUESTION_EMPTY`, `QUESTION_TOO_LONG`
 */
export function cleanQuestion(text: string): string {
  const question = stripControlCharacters(text);
  const details = { param: 'question' };
  if (question.trim() === '') throw new QuaestorError('QUESTION_EMPTY', 'The question is empty: write what to research.', { details });
  if (question.length > QUESTION_CHARS_MAX) {
    const message = `The question has ${question.length} characters; at most ${QUESTION_CHARS_MAX} are possible.`;
    throw new QuaestorError('QUESTION_TOO_LONG', message, { details });
  }
  return question;
}

/** A request with every limit decided and every id minted. */
export function newRun(tenantId: TenantId, request: CreateRunRequest, idempotencyKey: string | undefined): NewRun {
  const limits = {
    question: cleanQuestion(request.question),
    budgetMicrocredits: Math.round((request.budget_credits ?? BUDGET_CREDITS_DEFAULT) * MICROCREDITS_PER_CREDIT),
    deadlineSeconds: request.deadline_seconds ?? DEADLINE_SECONDS_DEFAULT,
    sourceCap: request.source_cap ?? SOURCE_CAP_DEFAULT,
    workersMax: request.workers ?? WORKERS_PARALLEL_DEFAULT,
    hostPolicy: hostPolicyOf(request),
  };
  return {
    tenantId,
    runId: mintId<RunId>('run', randomBytes(17)),
    threadId: mintId<ConversationThreadId>('thr', randomBytes(17)),
    ...limits,
    ...keyed(idempotencyKey, limits),
  };
}

/** A fork with every limit decided. */
export function newFork(tenantId: TenantId, runId: RunId, request: ForkRunRequest, idempotencyKey: string | undefined): NewFork {
  const limits = {
    runId,
    fromTurn: request.from_turn,
    budgetMicrocredits: Math.round((request.budget_credits ?? BUDGET_CREDITS_DEFAULT) * MICROCREDITS_PER_CREDIT),
    deadlineSeconds: request.deadline_seconds ?? DEADLINE_SECONDS_DEFAULT,
  };
  return { tenantId, ...limits, ...keyed(idempotencyKey, limits) };
}

const keyed = (key: string | undefined, request: object): { idempotencyKey?: IdempotencyKey } =>
  key === undefined ? {} : { idempotencyKey: { keySha256: hashOfKey(key), bodySha256: sha256Hex(JSON.stringify(request)) } };

const hostPolicyOf = ({ allowed_hosts: allowed, denied_hosts: denied = [] }: CreateRunRequest): HostPolicy | null =>
  allowed === undefined && denied.length === 0 ? null : { allowed: allowed ?? null, denied };

function hashOfKey(key: string): string {
  if (IDEMPOTENCY_KEY.test(key)) return sha256Hex(key);
  throw new QuaestorError('INVALID_REQUEST', 'An Idempotency-Key has 1 to 255 printable ASCII characters without spaces.', { details: { param: 'Idempotency-Key' } });
}
