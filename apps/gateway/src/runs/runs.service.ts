import { QuaestorError, RunId, type CheckpointView, type CreateRunRequest, type ForkRunRequest, type ResumeRunRequest, type List, type MessageView, type RunView, type ScratchpadView, type SourceView, type TenantId } from '#contracts';
import type { Acceptance, CancelRepository, CheckpointRepository, ProviderSettings, RunAcceptanceRepository, RunCopyRepository, RunResumptionRepository, RunPage, RunViewRepository } from '#database';
import { mintId, type OutboxJob } from '#domain';
import { randomBytes } from 'node:crypto';
import { crashPoint } from '#planted';
import { refusedByForecast, type EstimatesService } from '../estimates/estimates.service.ts';
import { newFork, newRun } from './new-run.ts';

/** A run that is missing, foreign, or a worker's: one answer, so that nobody learns which. */
export const noSuchRun = (): QuaestorError => new QuaestorError('NOT_FOUND', 'There is no run with this id.');

/** @throws QuaestorError `NOT_FOUND`, because a malformed id names no run either */
export function parseRunId(text: string): RunId {
  const parsed = RunId.safeParse(text);
  if (!parsed.success) throw noSuchRun();
  return parsed.data;
}

/** Hints for other processes. The rows are the truth and are found without them, so neither may fail or hold up a request. */
export interface Hints {
  /** These jobs are in the outbox: send them now. */
  send(jobs: readonly OutboxJob[]): void;
  /** This root run was cancelled: whoever works in its tree looks now. */
  cancelled(rootRunId: RunId): void;
  /** This root run has new events. */
  touched(rootRunId: RunId): void;
}

/** What is needed to show where a run stands and to go on with it. */
export interface Successors {
  checkpoints: CheckpointRepository;
  resumptions: RunResumptionRepository;
  copies: Pick<RunCopyRepository, 'fork'>;
  providers: ProviderSettings;
}

/** What clients may do with runs. Reads and writes are those of one tenant. */
export class RunsService {
  constructor(
    private readonly acceptance: RunAcceptanceRepository,
    private readonly views: RunViewRepository,
    private readonly cancels: Pick<CancelRepository, 'request' | 'endIdleRuns'>,
    private readonly hints: Hints,
    private readonly estimates: Pick<EstimatesService, 'admit' | 'money'>,
    private readonly successors: Successors,
  ) {}

  /** Durable when it returns. With an idempotency key a repeat returns the run of the first request, as it stands now. */
  async create(tenantId: TenantId, request: CreateRunRequest, idempotencyKey: string | undefined): Promise<RunView> {
    const asked = newRun(tenantId, request, idempotencyKey);
    const admission = await this.estimates.admit(asked, request);
    // a repeat of a request that was accepted gets its run, whatever the forecast says today
    const outcome = admission ? await this.acceptance.accept(admission.run) : await this.acceptance.earlier(asked);
    if (outcome === null) throw refusedByForecast();
    return { ...(await this.#accepted(tenantId, outcome)), warnings: admission?.warnings ?? [] };
  }

  async #accepted(tenantId: TenantId, outcome: Acceptance): Promise<RunView> {
    if (outcome.kind === 'key_reused') {
      throw new QuaestorError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used for another request: use a new one.', { details: { param: 'Idempotency-Key' } });
    }
    crashPoint('K01');
    if (outcome.kind === 'accepted') this.hints.send([outcome.job]);
    return this.get(tenantId, outcome.runId);
  }

  async get(tenantId: TenantId, runId: RunId): Promise<RunView> {
    return this.#withCost(found(await this.views.find(tenantId, runId)));
  }

  async list(tenantId: TenantId, page: RunPage): Promise<List<RunView>> {
    const result = await this.views.list(tenantId, page);
    if (!result) throw new QuaestorError('INVALID_REQUEST', 'after: there is no run with this id.', { details: { param: 'after' } });
    return listOf(result.runs.map((run) => this.#withCost(run)), result.hasMore, (run) => run.id);
  }

  readonly #withCost = (run: RunView): RunView => ({ ...run, cost: this.estimates.money(run.budget.spent + run.budget.overruns) });

  /** Notes the wish first, then tells whoever works on the run, which would see it within a second anyway. Idle runs are ended at once. */
  async cancel(tenantId: TenantId, runId: RunId): Promise<RunView> {
    if (await this.cancels.request(tenantId, runId)) {
      crashPoint('K25');
      this.hints.cancelled(runId);
      this.hints.send(await this.cancels.endIdleRuns(runId));
      this.hints.touched(runId);
    }
    return this.get(tenantId, runId);
  }

  async checkpoint(tenantId: TenantId, runId: RunId): Promise<CheckpointView> {
    return found(await this.successors.checkpoints.find(tenantId, runId, this.successors.providers));
  }

  /** The successor of a stopped run. Durable when it returns; every repeat names the same one. */
  async resume(tenantId: TenantId, runId: RunId, request: ResumeRunRequest): Promise<RunView> {
    const outcome = found(await this.successors.resumptions.resume(tenantId, runId, mintId<RunId>('run', randomBytes(17)), request));
    if (outcome.kind === 'resumed') this.hints.send([outcome.job]);
    return this.get(tenantId, outcome.runId);
  }

  /** Durable when it returns. The run it goes on from stays as it is. With an idempotency key a repeat returns the first fork. */
  async fork(tenantId: TenantId, runId: RunId, request: ForkRunRequest, idempotencyKey: string | undefined): Promise<RunView> {
    return this.#accepted(tenantId, await this.successors.copies.fork(newFork(tenantId, runId, request, idempotencyKey)));
  }

  async messages(tenantId: TenantId, runId: RunId): Promise<List<MessageView>> {
    return listOf(found(await this.views.messages(tenantId, runId)), false, (message) => message.sequence_no);
  }

  async scratchpad(tenantId: TenantId, runId: RunId): Promise<ScratchpadView> {
    return found(await this.views.scratchpad(tenantId, runId));
  }

  async sources(tenantId: TenantId, runId: RunId): Promise<List<SourceView>> {
    return listOf(found(await this.views.sources(tenantId, runId)), false, (source) => source.id);
  }
}

function found<Value>(value: Value | null): Value {
  if (value === null) throw noSuchRun();
  return value;
}

function listOf<Item>(data: Item[], hasMore: boolean, idOf: (item: Item) => string): List<Item> {
  const [first, last] = [data[0], data.at(-1)];
  return { object: 'list', data, first_id: first === undefined ? null : idOf(first), last_id: last === undefined ? null : idOf(last), has_more: hasMore };
}
