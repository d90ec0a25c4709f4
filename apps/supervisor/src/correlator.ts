import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { runJobId, type ToolCallId } from '#contracts';
import type { LeaseRepository } from '#database';
import { crashPoint } from '#planted';
import type { Completions } from '#queue';
import type { Runtime } from '#runtime';

/** Events that come together are answered by one query. */
const GATHER_MS = 10;

/**
 * Hears completed delegations by their tool call id, reads the settled rows and wakes the runs that wait for nothing any more. The
 * finishing worker has usually done so already; both lead to the same job id and one claim, so a run continues once.
 */
@Injectable()
export class Correlator implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #heard = new Set<ToolCallId>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly completions: Completions,
    private readonly leases: LeaseRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.completions.listen((toolCallId) => {
      this.#heard.add(toolCallId);
      this.#timer ??= setTimeout(() => void this.#correlate(), GATHER_MS);
    });
  }

  async #correlate(): Promise<void> {
    this.#timer = undefined;
    const toolCallIds = [...this.#heard];
    this.#heard.clear();
    try {
      const parents = await this.leases.parentsToWake(toolCallIds);
      if (parents.length > 0) crashPoint('K18');
      await this.runtime.sender.send(parents.map(({ runId, wakeNumber }) => ({ queue: 'runs', jobId: runJobId(runId, wakeNumber), payload: { runId } })));
    } catch (error) {
      this.runtime.report('correlator', error);
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.#timer);
    await this.completions.close();
  }
}
