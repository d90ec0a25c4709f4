import type { Reasoning, StreamBlock } from '#contracts';

/** The text of an answer: its text blocks, joined as they are. */
export const textOfBlocks = (blocks: readonly StreamBlock[]): string => blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');

/** The reasoning of an answer under the field it came in, or null when there was none. */
export function reasoningOfBlocks(blocks: readonly StreamBlock[]): Reasoning | null {
  const parts = blocks.filter((block) => block.type === 'reasoning');
  if (parts.length === 0) return null;
  return { text: parts.map((part) => part.text).join(''), field: parts[0]?.field ?? 'reasoning_content' };
}
