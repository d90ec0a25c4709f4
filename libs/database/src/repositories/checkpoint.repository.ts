import { HostPolicy, type CheckpointView, type RunId, type TenantId } from '#contracts';
import { creditsOf } from '#domain';
import type { Sql } from '../sql.ts';
import { OpenWorkRepository } from './open-work.repository.ts';
import type { RunViewRepository } from './run-view.repository.ts';

/** What an installation says of its providers; a run keeps only its model. */
export interface ProviderSettings {
  search_provider: string;
}

/** Where runs stand. Every query carries the tenant. */
export class CheckpointRepository {
  readonly #sql: Sql;
  readonly #views: RunViewRepository;
  readonly #work: OpenWorkRepository;

  constructor(sql: Sql, views: RunViewRepository) {
    this.#sql = sql;
    this.#views = views;
    this.#work = new OpenWorkRepository(sql);
  }

  /** Null when this tenant has no such root run. Reads only; may be asked at any time. */
  async find(tenantId: TenantId, runId: RunId, settings: ProviderSettings): Promise<CheckpointView | null> {
    const run = await this.#views.find(tenantId, runId);
    if (!run) return null;
    const row = (
      await this.#sql.rows(
        `SELECT r.source_cap, r.workers_max, r.host_policy, r.ended_at, r.deadline_at, r.started_at, NOW(3) AS now,
          COALESCE(r.ended_at, NOW(3)) >= r.deadline_at AS deadline_reached,
          (SELECT a.provider FROM attempts a WHERE a.run_id = r.id AND a.provider <> '' ORDER BY a.turn DESC, a.attempt DESC LIMIT 1) AS provider,
          (SELECT COALESCE(SUM(v.charge_microcredits), 0) FROM reservations v WHERE v.root_run_id = r.id AND v.state = 'unknown') AS unknown_microcredits
          FROM runs r WHERE r.id = ? AND r.tenant_id = ?`,
        [runId, tenantId],
      )
    )[0];
    const work = await this.#work.of(runId);
    const policy = row?.host_policy ? HostPolicy.parse(JSON.parse(row.host_policy as string)) : { allowed: null, denied: [] };
    return {
      object: 'checkpoint',
      run_id: run.id,
      resumed_from: run.resumed_from,
      status: run.status,
      stop_reason: run.stop_reason,
      limits_hit: run.limits_hit,
      question: run.question,
      queries: work.queries,
      declared: {
        budget_credits: run.budget.limit,
        deadline_at: run.deadline_at,
        source_cap: row?.source_cap as number,
        workers: row?.workers_max as number,
        allowed_hosts: policy.allowed,
        denied_hosts: policy.denied,
      },
      budget: run.budget,
      reserved_estimate: creditsOf((run.budget.limit - run.budget.left) * 1_000_000),
      remaining_estimate: run.budget.left,
      unknown_estimate: creditsOf(Number(row?.unknown_microcredits)),
      elapsed_seconds: (run.elapsed_ms ?? 0) / 1_000,
      deadline_reached: Number(row?.deadline_reached) === 1,
      provider: { model: run.model, model_provider: row?.provider as string | null, search_provider: settings.search_provider },
      sources: (await this.#views.sources(tenantId, runId)) ?? [],
      failures: work.failures,
      remaining_work: work.remaining,
      answer_ready: false,
    };
  }
}
