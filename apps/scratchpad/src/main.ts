import { loadConfig } from '#platform';
import { runtimeConfig, startService } from '#runtime';
import { ScratchpadModule } from './scratchpad.module.ts';

await startService({
  name: 'scratchpad',
  loadConfig: () => loadConfig(runtimeConfig),
  module: (runtime, config) => ScratchpadModule.create(runtime, config),
});
