import { QuaestorError, type AssistantRole, type RunId } from '#contracts';
import { runAgent, type AgentDependencies } from '#agent';
import { internalEnding, isStoreFailure, type ClaimedRun } from '#domain';
import { crashPoint } from '#planted';
import type { LeaseKeeper } from './lease-keeper.ts';
import { runLeft } from './run-metrics.ts';
import type { Runtime } from './runtime.ts';

/** Drives one run as far as it goes in this process. Everything a queue processor does for a run, root or worker. */
export class RunAdvancer {
  readonly #runtime: Runtime;
  readonly #deps: AgentDependencies;
  readonly #leases: LeaseKeeper;

  constructor(runtime: Runtime, deps: AgentDependencies, leases: LeaseKeeper) {
    this.#runtime = runtime;
    this.#deps = deps;
    this.#leases = leases;
  }

  /**
   * Safe to call for any run at any time: a run that is held, waits or has ended is left alone. A failure of the stores lets the lease
   * lapse, so that the sweeper sends the run again; any other unexpected failure ends the run as `internal_error`.
   */
  async advance(runId: RunId, drain: AbortSignal): Promise<void> {
    let claimed: ClaimedRun | null = null;
    crashPoint('K03');
    try {
      const exit = await runAgent(this.#deps, runId, (taken) => {
        claimed = taken;
        return { abort: this.#leases.hold(taken), drain };
      });
      if (claimed !== null && exit !== null) runLeft({ role: roleOf(claimed), exit });
    } catch (error) {
      await this.#fail(runId, claimed, error);
    } finally {
      if (claimed !== null) this.#leases.drop((claimed as ClaimedRun).fence);
    }
  }

  async #fail(runId: RunId, claimed: ClaimedRun | null, error: unknown): Promise<void> {
    const log = { run_id: runId, code: error instanceof QuaestorError ? error.code : undefined, error: error instanceof Error ? error.stack : String(error) };
    if (claimed === null) {
      this.#runtime.logger.warn(log, 'run could not be claimed, the sweeper sends it again');
      return this.#leases.disown(runId);
    }
    const { fence } = claimed;
    const role = roleOf(claimed);
    const isLost = error instanceof QuaestorError && error.code === 'LEASE_LOST';
    runLeft({ role, exit: isLost || isStoreFailure(error) ? 'lost' : 'failed' });
    if (isLost) {
      this.#runtime.logger.info(log, 'lease lost, run left alone');
      // after an absence of the database nobody else may have it: this process must not keep it by beating for others
      return this.#leases.abandon(fence);
    }
    if (isStoreFailure(error)) {
      this.#runtime.logger.warn(log, 'run interrupted, another claim goes on with it');
      return this.#leases.abandon(fence);
    }
    this.#runtime.logger.error(log, 'run failed unexpectedly');
    try {
      const told = toldOf(error);
      const ended = await this.#deps.journal.endRun(fence, null, internalEnding(claimed.loaded.run, told, told.message));
      this.#deps.observer.runEnded({ role, stopReason: 'internal_error' });
      await this.#deps.send(ended.jobs);
      this.#deps.touched(fence.rootRunId);
    } catch (again) {
      this.#runtime.report('end of run', again);
      await this.#leases.abandon(fence);
    }
  }
}

const roleOf = ({ loaded }: ClaimedRun): AssistantRole => loaded.run.role;

/** What anybody may read of it: the words of an unknown error are for the log alone. */
const toldOf = (cause: unknown): { code: string; message: string } =>
  cause instanceof QuaestorError ? { code: cause.code, message: cause.message } : { code: 'INTERNAL_ERROR', message: 'The run failed for a reason inside the engine; its log names it.' };
