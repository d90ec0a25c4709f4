import { QuaestorError, type RunId } from '#contracts';
import type { ClaimedRun, Fence } from '#domain';
import type { HeldRun, LeaseRepository } from '#database';
import { leaseLost, runsHeld } from './run-metrics.ts';

interface Held {
  rootRunId: RunId;
  leaseEpoch: number;
  abort: AbortController;
}

/** Beats for the whole process from a thread of its own, so that a busy event loop does not cost it its leases. */
export interface Pulse {
  hold(holding: boolean): void;
  alive(): void;
  stop(): Promise<void>;
}

/** A run that is let go slowly is told with every beat, and counted once. */
function abortOnce(held: Held | undefined, reason: QuaestorError): void {
  if (held === undefined || held.abort.signal.aborted) return;
  if (reason.code === 'LEASE_LOST') leaseLost();
  held.abort.abort(reason);
}

/** Often enough for any sensible limit on how long an event loop may be stuck. */
const ALIVE_INTERVAL_MS = 250;

export interface LeaseKeeperOptions {
  leases: LeaseRepository;
  pulse?: Pulse;
  intervalMs: number;
  /** A process that could not reach the database for this long must assume that its leases have lapsed. */
  ttlMs: number;
  onError(error: unknown): void;
}

/**
 * Keeps the leases of one process alive with one batched heartbeat, which also brings cancel flags. A run whose lease passed on, or that
 * could not be extended in time, is aborted before it can act on a right it no longer has.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held = new Map<RunId, Held>();
  /** Runs whose claim failed without an answer: it may have been committed all the same. */
  readonly #unheard = new Set<RunId>();
  #abandoned: { runId: RunId; leaseEpoch: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #aliveTimer: NodeJS.Timeout | undefined;
  /** When the first of the beats began that the database has not answered since; a busy event loop is no absent database. */
  #unansweredSinceMs: number | null = null;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  hold({ fence }: ClaimedRun): AbortSignal {
    const held = { rootRunId: fence.rootRunId, leaseEpoch: fence.leaseEpoch, abort: new AbortController() };
    // claimed anew by this very process: the execution before it has lost the run and must stop paying for it
    abortOnce(this.#held.get(fence.runId), new QuaestorError('LEASE_LOST', `Run ${fence.runId} was claimed again.`));
    this.#held.set(fence.runId, held);
    runsHeld(this.size);
    if (this.#timer === undefined) this.#arm();
    this.#startPulse();
    return held.abort.signal;
  }

  /** Lets go of one hold; a later hold of the same run, by this very process, stays. */
  drop({ runId, leaseEpoch }: Pick<Fence, 'runId' | 'leaseEpoch'>): void {
    if (this.#held.get(runId)?.leaseEpoch === leaseEpoch) this.#held.delete(runId);
    runsHeld(this.size);
  }

  /**
   * The work on a run ended without an ending: it must lapse, although its process lives on and beats for others. Tried at once, and again
   * with every beat while the database cannot be reached.
   */
  async abandon({ runId, leaseEpoch }: Pick<Fence, 'runId' | 'leaseEpoch'>): Promise<void> {
    this.drop({ runId, leaseEpoch });
    this.#abandoned.push({ runId, leaseEpoch });
    await this.#giveUpNow();
  }

  /** The same for a run whose claim failed before anyone heard under which epoch, if it was committed at all. */
  async disown(runId: RunId): Promise<void> {
    this.#unheard.add(runId);
    await this.#giveUpNow();
  }

  async #giveUpNow(): Promise<void> {
    await this.#giveUpAbandoned();
    if (this.#hasLeftovers && this.#timer === undefined) this.#arm();
  }

  get #hasLeftovers(): boolean {
    return this.#abandoned.length > 0 || this.#unheard.size > 0;
  }

  async #giveUpAbandoned(): Promise<void> {
    try {
      for (const runId of [...this.#unheard]) await this.#findUnheard(runId);
      const abandoned = [...this.#abandoned];
      await this.#options.leases.abandon(abandoned);
      this.#abandoned = this.#abandoned.filter((run) => !abandoned.includes(run));
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async #findUnheard(runId: RunId): Promise<void> {
    const leaseEpoch = await this.#options.leases.epochOf(runId);
    if (leaseEpoch !== null && this.#held.get(runId)?.leaseEpoch !== leaseEpoch) this.#abandoned.push({ runId, leaseEpoch });
    this.#unheard.delete(runId);
  }

  #arm(): void {
    this.#timer = setTimeout(() => void this.#beat(), this.#options.intervalMs);
  }

  async #beat(): Promise<void> {
    const held = [...this.#held].map(([runId, { leaseEpoch }]) => ({ runId, leaseEpoch }));
    const startedMs = performance.now();
    // a database behind a dead switch neither answers nor fails
    const unansweredSinceMs = this.#unansweredSinceMs ?? startedMs;
    const overdue = setTimeout(() => this.#endAll(held), Math.max(0, unansweredSinceMs + this.#options.ttlMs - startedMs));
    try {
      this.#heed(await this.#options.leases.heartbeat(held), held);
      this.#unansweredSinceMs = null;
    } catch (error) {
      this.#options.onError(error);
      this.#unansweredSinceMs = unansweredSinceMs;
      if (performance.now() - unansweredSinceMs > this.#options.ttlMs) this.#endAll(held);
    } finally {
      clearTimeout(overdue);
    }
    if (this.#hasLeftovers) await this.#giveUpAbandoned();
    if (this.#held.size === 0) this.#stopPulse();
    if ((this.#held.size > 0 || this.#hasLeftovers) && this.#timer !== undefined) this.#arm();
    else this.#timer = undefined;
  }

  /**
   * A hint that a root run was cancelled: what the rows say of its runs here is read now, and not with the next beat. Neither needed nor
   * trusted; a failure is left to the next beat.
   */
  async look(rootRunId: RunId): Promise<void> {
    const held = [...this.#held].filter(([, hold]) => hold.rootRunId === rootRunId).map(([runId, { leaseEpoch }]) => ({ runId, leaseEpoch }));
    try {
      this.#heed(await this.#options.leases.look(held), held);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #heed(states: HeldRun[], asked: { runId: RunId; leaseEpoch: number }[]): void {
    for (const { runId, held, cancelRequested } of states) {
      if (!held) this.#end(runId, asked, new QuaestorError('LEASE_LOST', `Run ${runId} is held by another process now.`));
      else if (cancelRequested) this.#end(runId, asked, new QuaestorError('RUN_CANCELLED', 'The run was cancelled.'));
    }
  }

  #startPulse(): void {
    if (this.#aliveTimer !== undefined) return;
    this.#options.pulse?.hold(true);
    this.#aliveTimer = setInterval(() => this.#options.pulse?.alive(), ALIVE_INTERVAL_MS);
  }

  #stopPulse(): void {
    clearInterval(this.#aliveTimer);
    this.#aliveTimer = undefined;
    this.#options.pulse?.hold(false);
  }

  /** Only the hold that was asked about: the run may have been let go and claimed anew meanwhile. */
  #end(runId: RunId, asked: { runId: RunId; leaseEpoch: number }[], reason: QuaestorError): void {
    const held = this.#held.get(runId);
    if (held && asked.some((one) => one.runId === runId && one.leaseEpoch === held.leaseEpoch)) abortOnce(held, reason);
  }

  #endAll(asked: { runId: RunId; leaseEpoch: number }[]): void {
    for (const { runId } of asked) this.#end(runId, asked, new QuaestorError('LEASE_LOST', 'The database could not be reached for longer than the lease.'));
  }

  /** After the last run was let go: whatever is still held lapses at once. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stopPulse();
    await this.#options.pulse?.stop();
    await this.#options.leases.giveUp();
  }
}
