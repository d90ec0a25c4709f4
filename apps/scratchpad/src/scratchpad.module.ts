import { Module, type DynamicModule } from '@nestjs/common';
import { ScratchpadWriteRepository } from '#database';
import type { Runtime, RuntimeConfig } from '#runtime';
import { ScratchpadProcessor } from './scratchpad.processor.ts';

/** The only writer of scratchpad rows. */
@Module({})
export class ScratchpadModule {
  static create(runtime: Runtime, config: RuntimeConfig): DynamicModule {
    return {
      module: ScratchpadModule,
      providers: [{ provide: ScratchpadProcessor, useFactory: () => new ScratchpadProcessor(runtime, config, new ScratchpadWriteRepository(runtime.sql)) }],
    };
  }
}
