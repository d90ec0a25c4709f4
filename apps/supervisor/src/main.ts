import { loadConfig } from '#platform';
import { startService } from '#runtime';
import { supervisorConfig } from './config.ts';
import { SupervisorModule } from './supervisor.module.ts';

await startService({
  name: 'supervisor',
  loadConfig: () => loadConfig(supervisorConfig),
  module: (runtime, config) => SupervisorModule.create(runtime, config),
});
