import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { QUEUE_NAMES, type RunId } from '#contracts';
import type { CancelRepository, SweepFinds, SweepRepository, SweepTimings, SweepTurn } from '#database';
import type { OutboxJob } from '#domain';
import { counter } from '#platform';
import { crashPoint } from '#planted';
import type { Runtime } from '#runtime';
import type { SupervisorConfig } from './config.ts';

const BATCH = 200;
const FORGET_INTERVAL_MS = 60_000;
const TEND_QUEUES_INTERVAL_MS = 3_600_000;
/** Without a live run nothing can get lost but the job of a new one. */
const IDLE_INTERVALS = 3;

const resent = counter('sweeper_resent_total', 'Jobs that a sweep of this process sent in the place of lost ones.', { queue: QUEUE_NAMES });

export interface SweepRows {
  sweep: SweepRepository;
  cancel: CancelRepository;
  /** Among all supervisors, one looks at a time. */
  turn: SweepTurn;
}

/**
 * Finds what an event, a job or a process lost on its way: unsent outbox rows, lapsed leases, waits that are over, cancels of idle runs.
 * Every supervisor runs one, and all but one of them wait for their turn; conditional updates let one of them send.
 */
@Injectable()
export class Sweeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #forgotAtMs = Number.NEGATIVE_INFINITY;
  #tendedAtMs = Number.NEGATIVE_INFINITY;
  #isIdle = false;

  constructor(
    private readonly runtime: Runtime,
    private readonly config: SupervisorConfig,
    private readonly rows: SweepRows,
  ) {}

  onApplicationBootstrap(): void {
    this.#arm();
  }

  get #timings(): SweepTimings {
    const { RESEND_AFTER_MS: resendAfterMs, LEASE_TTL_MS } = this.config;
    return { resendAfterMs, recoverAfterMs: Math.min(resendAfterMs, LEASE_TTL_MS), limit: BATCH };
  }

  #arm(): void {
    if (this.#stopped) return;
    const { SWEEP_INTERVAL_MS: intervalMs, LEASE_TTL_MS: leaseTtlMs } = this.config;
    // the first run after a pause is noticed within its first term, and from then on every interval counts
    this.#timer = setTimeout(() => void this.#sweep(), this.#isIdle ? Math.max(intervalMs, Math.min(IDLE_INTERVALS * intervalMs, leaseTtlMs)) : intervalMs);
  }

  /** One run that cannot be ended must not keep all others waiting. */
  async #sweep(): Promise<void> {
    await this.#reported(async () => this.#tend(await this.rows.sweep.look(this.#timings, this.rows.turn)));
    await this.#reported(() => this.#forgetTraces());
    this.#arm();
  }

  async #tend(finds: SweepFinds): Promise<void> {
    this.#isIdle = finds.isIdle;
    await this.#reported(() => this.#resend(finds.unsent));
    await this.#reported(async () => this.#resend(await this.rows.sweep.raise(finds)));
    for (const rootRunId of finds.cancelledRoots) await this.#reported(() => this.#endIdleRuns(rootRunId));
  }

  /** Traces of processes and of queues that nobody will look at again. */
  async #forgetTraces(): Promise<void> {
    if (performance.now() - this.#forgotAtMs < FORGET_INTERVAL_MS) return;
    this.#forgotAtMs = performance.now();
    await this.rows.sweep.forgetDeadOwners();
    if (performance.now() - this.#tendedAtMs < TEND_QUEUES_INTERVAL_MS) return;
    await this.runtime.queues.tend();
    this.#tendedAtMs = performance.now();
  }

  async #resend(jobs: OutboxJob[]): Promise<void> {
    for (const { queue } of jobs) resent.add({ queue });
    if (jobs.length > 0) crashPoint('K24');
    await this.runtime.sender.send(jobs);
  }

  async #endIdleRuns(rootRunId: RunId): Promise<void> {
    const jobs = await this.rows.cancel.endIdleRuns(rootRunId);
    this.runtime.notifier.touched(rootRunId);
    await this.runtime.sender.send(jobs);
  }

  async #reported(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#stopped) this.runtime.report('sweeper', error);
    }
  }

  beforeApplicationShutdown(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.rows.turn.close();
  }
}
