import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { RunId, ToolCallId } from '#contracts';
import type { ScratchpadWriteRepository } from '#database';
import { counter } from '#platform';
import { crashPoint } from '#planted';
import { QueueProcessor } from '#queue';
import type { Runtime, RuntimeConfig } from '#runtime';
import { readWrite } from './read-write.ts';

const writes = counter('scratchpad_writes_total', 'Scratchpad writes, by what became of the call; a refused one has no operation.', {
  operation: ['append', 'update', 'none'],
  outcome: ['settled', 'refused', 'repeated', 'failed'],
});

/** Writes one entry or body per job and settles its call in the same commit; a repeat adds nothing. */
@Injectable()
export class ScratchpadProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #processor: QueueProcessor<'scratchpad'> | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly config: RuntimeConfig,
    private readonly scratchpads: ScratchpadWriteRepository,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#processor = new QueueProcessor('scratchpad', ({ toolCallId }) => this.#write(toolCallId), {
      redis: this.runtime.connect('consumer'),
      prefix: this.runtime.prefix,
      onError: (error) => this.runtime.report('scratchpad', error),
      ...(this.config.CONCURRENCY === undefined ? {} : { concurrency: this.config.CONCURRENCY }),
    });
    await this.#processor.ready();
  }

  async #write(toolCallId: ToolCallId): Promise<void> {
    const pending = await this.scratchpads.pending(toolCallId);
    if (!pending) return writes.add({ operation: 'none', outcome: 'repeated' });
    const write = readWrite(pending);
    const operation = 'kind' in write ? 'none' : write.operation;
    try {
      crashPoint('K17');
      const rootRunId = await this.scratchpads.settle(toolCallId, write);
      crashPoint('K17');
      if (rootRunId !== null) this.runtime.notifier.touched(rootRunId as RunId);
      writes.add({ operation, outcome: rootRunId === null ? 'repeated' : 'kind' in write ? 'refused' : 'settled' });
    } catch (error) {
      writes.add({ operation, outcome: 'failed' });
      throw error;
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#processor?.close(this.config.DRAIN_GRACE_MS);
  }
}
