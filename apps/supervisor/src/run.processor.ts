import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { QueueProcessor } from '#queue';
import type { AgentWiring, LeaseKeeper, RunAdvancer, Runtime } from '#runtime';
import type { SupervisorConfig } from './config.ts';

/** Takes wake-ups of root runs. A job says only "look at this run": the claim decides whether there is anything to do. */
@Injectable()
export class RunProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #processor: QueueProcessor<'runs'> | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly config: SupervisorConfig,
    private readonly advancer: RunAdvancer,
    private readonly leases: LeaseKeeper,
    private readonly wiring: AgentWiring,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#processor = new QueueProcessor('runs', ({ runId }, drain) => this.advancer.advance(runId, drain), {
      redis: this.runtime.connect('consumer'),
      prefix: this.runtime.prefix,
      onError: (error) => this.runtime.report('runs', error),
      ...(this.config.CONCURRENCY === undefined ? {} : { concurrency: this.config.CONCURRENCY }),
    });
    await this.#processor.ready();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#processor?.close(this.config.DRAIN_GRACE_MS);
    await this.leases.close();
    await this.wiring.close();
  }
}
