import type { RunId, TenantId } from '#contracts';
import type { OutboxJob } from '#domain';
import type { Sql, Statement } from '../sql.ts';

/** A client's key for one request, with a fingerprint of the request's body. Both are SHA-256, lower-case hex. */
export interface IdempotencyKey {
  keySha256: string;
  bodySha256: string;
}

export interface FirstUse {
  runId: RunId;
  bodySha256: string;
}

/** How long a key answers with its first run. */
const KEPT_HOURS = 24;
const REMOVED_AT_ONCE_MAX = 1_000;

/** Taking a key: the primary key lets exactly one of any number of racing transactions through; the others fail as duplicates. */
export const takeKeyStatement = (tenantId: TenantId, key: IdempotencyKey, runId: RunId): Statement => ({
  sql: 'INSERT INTO idempotency_keys (tenant_id, key_sha256, body_sha256, run_id, created_at) VALUES (?, ?, ?, ?, NOW(3))',
  values: [tenantId, key.keySha256, key.bodySha256, runId],
});

/** What became of a request that makes a run. A repeat names the run of the first request with its key. */
export type Acceptance = { kind: 'accepted'; runId: RunId; job: OutboxJob } | { kind: 'repeated'; runId: RunId } | { kind: 'key_reused' };

export class IdempotencyRepository {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** What the key was first used for, or null. */
  async find(tenantId: TenantId, keySha256: string): Promise<FirstUse | null> {
    const rows = await this.#sql.rows('SELECT run_id, body_sha256 FROM idempotency_keys WHERE tenant_id = ? AND key_sha256 = ?', [tenantId, keySha256]);
    const row = rows[0];
    return row ? { runId: row['run_id'] as RunId, bodySha256: row['body_sha256'] as string } : null;
  }

  /** What a request came to whose key, or whose freshly minted run, was there already; null when neither was. */
  async repeated(tenantId: TenantId, job: OutboxJob, runId: RunId, key: IdempotencyKey | undefined): Promise<Acceptance | null> {
    // an id is minted once: the run of an earlier try, whose COMMIT nobody heard of
    const made = await this.#sql.rows('SELECT id FROM runs WHERE id = ? AND tenant_id = ?', [runId, tenantId]);
    if (made.length > 0) return { kind: 'accepted', runId, job };
    const first = key && (await this.find(tenantId, key.keySha256));
    if (!first) return null;
    return first.bodySha256 === key.bodySha256 ? { kind: 'repeated', runId: first.runId } : { kind: 'key_reused' };
  }

  /** Forgets keys older than 24 hours, a bounded number per call; returns how many. */
  async removeExpired(): Promise<number> {
    const changed = await this.#sql.change(`DELETE FROM idempotency_keys WHERE created_at < NOW(3) - INTERVAL ${KEPT_HOURS} HOUR LIMIT ${REMOVED_AT_ONCE_MAX}`);
    return changed.affectedRows;
  }
}
