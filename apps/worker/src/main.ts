import { loadConfig } from '#platform';
import { startService } from '#runtime';
import { workerConfig } from './config.ts';
import { WorkerModule } from './worker.module.ts';

await startService({
  name: 'worker',
  loadConfig: () => loadConfig(workerConfig),
  module: (runtime, config) => WorkerModule.create(runtime, config),
});
