import type { ErrorResult } from '#contracts';
import type { PendingWrite, ScratchpadWrite } from '#database';
import { parseToolCall } from '#domain';
import { PLATFORM_TOOLS } from '#tools';

const WRITES = PLATFORM_TOOLS.filter((tool) => tool.effect === 'scratchpad-write');

/** What a call asks to be written, from its stored arguments, by the same strict schema that admitted it; an error result otherwise. */
export function readWrite(pending: PendingWrite): ScratchpadWrite | ErrorResult {
  const parsed = parseToolCall(WRITES, pending);
  if (!parsed.ok) return parsed.result;
  const args = parsed.args as { note: string } | { content: string };
  return 'note' in args ? { operation: 'append', text: args.note } : { operation: 'update', content: args.content };
}
