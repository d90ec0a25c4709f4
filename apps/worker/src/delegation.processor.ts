import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { LeaseRepository } from '#database';
import { QueueProcessor } from '#queue';
import type { AgentWiring, LeaseKeeper, RunAdvancer, Runtime } from '#runtime';
import type { WorkerConfig } from './config.ts';

export interface DelegationParts {
  advancer: RunAdvancer;
  leases: LeaseKeeper;
  wiring: AgentWiring;
  delegations: LeaseRepository;
}

/** Takes one delegation at a time per slot: finds its worker run and drives it to its end. Its job completes once the outcome is settled. */
@Injectable()
export class DelegationProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #processor: QueueProcessor<'delegations'> | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly config: WorkerConfig,
    private readonly parts: DelegationParts,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#processor = new QueueProcessor(
      'delegations',
      async ({ toolCallId }, drain) => {
        const runId = await this.parts.delegations.runOfDelegation(toolCallId);
        if (runId !== null) await this.parts.advancer.advance(runId, drain);
      },
      {
        redis: this.runtime.connect('consumer'),
        prefix: this.runtime.prefix,
        onError: (error) => this.runtime.report('delegations', error),
        ...(this.config.CONCURRENCY === undefined ? {} : { concurrency: this.config.CONCURRENCY }),
      },
    );
    await this.#processor.ready();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#processor?.close(this.config.DRAIN_GRACE_MS);
    await this.parts.leases.close();
    await this.parts.wiring.close();
  }
}
