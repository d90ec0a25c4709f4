import { assertNever, type FinishReason, type ModelChunk, type ReasoningField, type StreamBlock, type Usage } from '#contracts';

type ToolCallBlock = Extract<StreamBlock, { type: 'tool-call' }>;

interface PendingBlock {
  type: StreamBlock['type'];
  /** Text of a text or reasoning block, arguments of a tool call. */
  content: string;
  field?: ReasoningField;
  id: string;
  name: string;
  closed?: StreamBlock;
}

const finishedBlock = (pending: PendingBlock): StreamBlock => {
  if (pending.closed !== undefined) return pending.closed;
  switch (pending.type) {
    case 'text':
      return { type: 'text', text: pending.content };
    case 'reasoning':
      return { type: 'reasoning', text: pending.content, ...(pending.field !== undefined && { field: pending.field }) };
    case 'tool-call':
      return { type: 'tool-call', id: pending.id, name: pending.name, arguments: pending.content };
    default:
      return assertNever(pending.type);
  }
};

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const replayBlocks = (replayState: unknown): unknown[] | undefined => {
  const blocks: unknown = typeof replayState === 'object' && replayState !== null && 'blocks' in replayState ? replayState.blocks : undefined;
  return Array.isArray(blocks) ? blocks : undefined;
};

/**
 * Puts the chunks of one attempt together. Blocks keep first-seen order; a missing `block-start` is tolerated; the first `block-end` is
 * authoritative and later deltas of that block are ignored. A tool call keeps the provider's own id, empty when it sent none.
 */
export class BlockAssembler {
  readonly #pending = new Map<number, PendingBlock>();
  #usage: Usage | undefined;
  #finish: Extract<ModelChunk, { type: 'finish' }> | undefined;

  push(chunk: ModelChunk): void {
    switch (chunk.type) {
      case 'text-delta':
        return this.#grow(this.#block(chunk.index, 'text'), chunk.text);
      case 'reasoning-delta':
        return this.#grow(this.#block(chunk.index, 'reasoning'), chunk.text);
      case 'tool-call-delta':
        return this.#growToolCall(chunk);
      case 'block-start':
        this.#block(chunk.index, chunk.blockType, chunk.field);
        return;
      case 'block-end':
        this.#block(chunk.index, chunk.block.type).closed ??= chunk.block;
        return;
      case 'usage':
        this.#usage = chunk.usage;
        return;
      case 'finish':
        this.#finish = chunk;
        return;
      default:
        return assertNever(chunk);
    }
  }

  /** True once a finish chunk was seen. Without one the stream was cut, whatever `finish` says. */
  get finished(): boolean {
    return this.#finish !== undefined;
  }

  /** Why the model stopped; `stop` when no finish chunk was seen (see `finished`). */
  get finish(): FinishReason {
    return this.#finish?.reason ?? { kind: 'stop' };
  }

  /** The last usage the provider reported. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** True when any tool call arrived, also one that `blocks()` leaves out. */
  get hasToolCalls(): boolean {
    return this.#all().some((block) => block.type === 'tool-call');
  }

  /** The blocks of the answer. After `max-tokens` every tool call is left out: none of them may be executed. */
  blocks(): StreamBlock[] {
    return this.#all().filter((block) => this.#isKept(block));
  }

  /** Tool calls left out of `blocks()` after `max-tokens` that were still open or whose arguments do not parse. */
  truncatedToolCalls(): ToolCallBlock[] {
    if (this.finish.kind !== 'max-tokens') return [];
    return [...this.#pending.values()].flatMap((pending) => {
      const block = finishedBlock(pending);
      return block.type === 'tool-call' && (pending.closed === undefined || !parses(block.arguments)) ? [block] : [];
    });
  }

  /** What people may still see of a cancelled answer: text and reasoning with visible characters, never a tool call. */
  interruptedBlocks(): Exclude<StreamBlock, ToolCallBlock>[] {
    return [...this.#pending.values()].flatMap((pending) => {
      if (pending.closed === undefined && pending.type !== 'text' && pending.type !== 'reasoning') return [];
      const block = finishedBlock(pending);
      return block.type !== 'tool-call' && block.text.trim() !== '' ? [block] : [];
    });
  }

  /** The provider's replay state, with the entries of left-out blocks removed; undefined when its block list does not match the blocks. */
  replayState(): unknown {
    const state = this.#finish?.replayState;
    const entries = replayBlocks(state);
    if (entries === undefined) return state;
    const all = this.#all();
    if (entries.length !== all.length) return undefined;
    const kept = entries.filter((_, position) => this.#isKept(all[position]));
    return kept.length === entries.length ? state : { ...(state as object), blocks: kept };
  }

  #all(): StreamBlock[] {
    return [...this.#pending.values()].map(finishedBlock);
  }

  #isKept(block: StreamBlock | undefined): boolean {
    return block?.type !== 'tool-call' || this.finish.kind !== 'max-tokens';
  }

  #block(index: number, type: StreamBlock['type'], field?: ReasoningField): PendingBlock {
    let pending = this.#pending.get(index);
    if (pending === undefined) {
      pending = { type, content: '', field, id: '', name: '' };
      this.#pending.set(index, pending);
    }
    return pending;
  }

  #grow(pending: PendingBlock, text: string): void {
    if (pending.closed === undefined) pending.content += text;
  }

  #growToolCall(chunk: Extract<ModelChunk, { type: 'tool-call-delta' }>): void {
    const pending = this.#block(chunk.index, 'tool-call');
    if (chunk.id !== '') pending.id = chunk.id;
    if (chunk.name !== undefined && chunk.name !== '') pending.name = chunk.name;
    this.#grow(pending, chunk.argumentsDelta);
  }
}
