import { QuaestorError, type Reasoning } from '#contracts';
import { truncateChars } from '../text/sanitize.ts';
import { BlockAssembler } from './assemble.ts';
import { expandAssistantStream } from './expand.ts';
import { reasoningOfBlocks, textOfBlocks } from './message-of-blocks.ts';

/** What is stored of an attempt beside its stream. */
export interface StoredAnswer {
  /** Null for an attempt that is no message of a conversation. */
  message: { content: string; reasoning: Reasoning | null; replay?: unknown } | null;
  /** Null where the calls of the answer were not kept: a finishing call is offered no tools. */
  calls: readonly { providerCallId: string | null; name: string; arguments: string }[] | null;
  usage: { inputTokens: number; outputTokens: number; estimated: boolean };
}

/**
 * Why a stored stream is not the one its attempt came from, in a few words; null when expanding and assembling it again gives the stored
 * content, reasoning, replay state, calls and usage. `nameCharsMax` is the width to which names of calls are cut.
 */
export function streamProblem(stored: StoredAnswer, records: readonly unknown[], nameCharsMax: number): string | null {
  const assembler = new BlockAssembler();
  try {
    for (const { chunk } of expandAssistantStream(records)) assembler.push(chunk);
  } catch (error) {
    return error instanceof QuaestorError ? 'has a stream that cannot be expanded' : 'has a stream with a chunk of no known type';
  }
  const { inputTokens, outputTokens, estimated } = stored.usage;
  const { usage } = assembler;
  if (!estimated && (usage?.inputTokens !== inputTokens || usage.outputTokens !== outputTokens)) return 'has another usage than its stream';
  if (!stored.message) return stored.calls && stored.calls.length > 0 ? 'has calls although it is no message' : null;
  const blocks = assembler.blocks();
  if (textOfBlocks(blocks) !== stored.message.content) return 'has another content than its stream';
  if (JSON.stringify(reasoningOfBlocks(blocks)) !== JSON.stringify(stored.message.reasoning)) return 'has another reasoning than its stream';
  if (JSON.stringify(assembler.replayState() ?? null) !== JSON.stringify(stored.message.replay ?? null)) return 'has another replay state than its stream';
  if (!stored.calls) return null;
  const calls = blocks.flatMap((block) => (block.type === 'tool-call' ? [[block.id === '' ? null : block.id, truncateChars(block.name, nameCharsMax), block.arguments]] : []));
  const kept = stored.calls.map(({ providerCallId, name, arguments: given }) => [providerCallId, name, given]);
  return JSON.stringify(calls) === JSON.stringify(kept) ? null : 'has other calls than its stream';
}
