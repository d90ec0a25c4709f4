import { Module, type DynamicModule } from '@nestjs/common';
import { openLeases, RunAdvancer, Runtime, wireAgent } from '#runtime';
import type { WorkerConfig } from './config.ts';
import { DelegationProcessor } from './delegation.processor.ts';

const SHOWN_MAX = 5;

function skippedNotice(failed: readonly { path: string; reason: string }[]): string {
  const shown = failed.slice(0, SHOWN_MAX).map(({ path, reason }) => `${path} (${reason.replace(/\.$/, '')})`);
  const rest = failed.length - shown.length;
  return `${failed.length} document(s) could not be read: ${shown.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}.`;
}

/** Carries out delegations. Run as many of these processes as there is work for: they share nothing but the stores. */
@Module({})
export class WorkerModule {
  static async create(runtime: Runtime, config: WorkerConfig): Promise<DynamicModule> {
    const wiring = await wireAgent(runtime, config);
    if (config.DOCS_DIR !== undefined) {
      const report = await wiring.web.indexDocuments();
      runtime.logger.info({ indexed: report.indexed, unchanged: report.unchanged, removed: report.removed, failed: report.failed.length }, 'documents indexed');
      for (const { path, reason } of report.failed) runtime.logger.warn({ path, reason }, 'document skipped');
      if (report.failed.length > 0) runtime.notices.push(skippedNotice(report.failed));
    }
    const { rows: delegations, keeper: leases } = openLeases(runtime);
    return {
      module: WorkerModule,
      providers: [
        { provide: DelegationProcessor, useFactory: () => new DelegationProcessor(runtime, config, { advancer: new RunAdvancer(runtime, wiring.deps, leases), leases, wiring, delegations }) },
      ],
    };
  }
}
