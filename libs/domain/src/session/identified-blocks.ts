import type { StreamBlock } from '#contracts';

/** Blocks in which a call that came without an id of its own is known by its place. */
export const identifiedBlocks = (blocks: readonly StreamBlock[]): StreamBlock[] =>
  blocks.map((block, index) => (block.type === 'tool-call' && block.id === '' ? { ...block, id: `call-${index}` } : block));
