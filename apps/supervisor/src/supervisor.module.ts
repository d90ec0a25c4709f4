import { Module, type DynamicModule } from '@nestjs/common';
import { CancelRepository, SweepRepository, SweepTurn } from '#database';
import { Completions } from '#queue';
import { openLeases, RunAdvancer, Runtime, wireAgent } from '#runtime';
import type { SupervisorConfig } from './config.ts';
import { Correlator } from './correlator.ts';
import { RunProcessor } from './run.processor.ts';
import { Sweeper } from './sweeper.ts';

/** Advances root runs, correlates results, and sweeps for work that lost its job. */
@Module({})
export class SupervisorModule {
  static async create(runtime: Runtime, config: SupervisorConfig): Promise<DynamicModule> {
    const wiring = await wireAgent(runtime, config);
    const { rows: leaseRows, keeper: leases } = openLeases(runtime);
    const completions = await Completions.open('delegations', { redisUrl: config.REDIS_URL, prefix: runtime.prefix, onError: (error) => runtime.report('completions', error) });
    return {
      module: SupervisorModule,
      providers: [
        { provide: RunProcessor, useFactory: () => new RunProcessor(runtime, config, new RunAdvancer(runtime, wiring.deps, leases), leases, wiring) },
        { provide: Correlator, useFactory: () => new Correlator(runtime, completions, leaseRows) },
        {
          provide: Sweeper,
          useFactory: () => new Sweeper(runtime, config, { sweep: new SweepRepository(runtime.sql), cancel: new CancelRepository(runtime.sql), turn: new SweepTurn({ url: config.DATABASE_URL, intervalMs: config.SWEEP_INTERVAL_MS }) }),
        },
      ],
    };
  }
}
