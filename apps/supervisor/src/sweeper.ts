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
  #forgotAtMs = 0;

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
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#sweep(), this.config.SWEEP_INTERVAL_MS);
  }

  /** One run that cannot be ended must not keep all others waiting. */
  async #sweep(): Promise<void> {
    await this.#reported(async () => this.#tend(await this.rows.sweep.look(this.#timings, this.rows.turn)));
    await this.#reported(() => this.#forgetDeadOwners());
    this.#arm();
  }

  async #tend(finds: SweepFinds): Promise<void> {
    await this.#reported(() => this.#resend(finds.unsent));
    await this.#reported(async () => this.#resend(await this.rows.sweep.raise(finds)));
    for (const rootRunId of finds.cancelledRoots) await this.#reported(() => this.#endIdleRuns(rootRunId));
  }

  async #forgetDeadOwners(): Promise<void> {
    if (performance.now() - this.#forgotAtMs < FORGET_INTERVAL_MS) return;
    this.#forgotAtMs = performance.now();
    await this.rows.sweep.forgetDeadOwners();
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
