import { z } from 'zod';
import { ToolCallId } from './ids.ts';

/** One tool call as the model asked for it. `arguments` is the raw JSON text; it is parsed once, strictly, when the call is executed. */
export const ModelToolCall = z.object({
  toolCallId: ToolCallId,
  /** The provider's own id, echoed back byte for byte; null when it sent none. */
  providerCallId: z.string().nullable(),
  name: z.string(),
  arguments: z.string(),
});
export type ModelToolCall = z.infer<typeof ModelToolCall>;

/** Reasoning text with the field name the provider used, so that it can be echoed where the provider demands it. */
export const Reasoning = z.object({ text: z.string(), field: z.enum(['reasoning_content', 'reasoning']) });
export type Reasoning = z.infer<typeof Reasoning>;

/**
 * What a model sees. `assistant` with `toolCalls` and the `tool` messages that answer it are one protocol group: kept, cut or
 * summarised whole, never merged (invariant Q-11).
 */
export type ModelMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | {
      role: 'assistant';
      content: string;
      reasoning?: Reasoning;
      toolCalls?: ModelToolCall[];
      /** Who answered (`vendorOf`). Reasoning, call ids and `replay` go back to this one only; unknown counts as another. */
      vendor?: string;
      /** What the vendor wants back byte for byte beside the text, such as signed or encrypted reasoning; plain JSON. */
      replay?: unknown;
    }
  | { role: 'tool'; toolCallId: ToolCallId; providerCallId: string | null; name: string; content: string; isError: boolean };

/** A tool as a model is told about it; `parameters` is JSON Schema. */
export interface ModelToolDefinition {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

/** Tokens of one model call. Parts are disjoint from each other only where a provider says so; `estimated` marks our own count. */
export const Usage = z.object({
  inputTokens: z.number().int().nonnegative(),
  outputTokens: z.number().int().nonnegative(),
  cacheReadTokens: z.number().int().nonnegative().optional(),
  reasoningTokens: z.number().int().nonnegative().optional(),
  estimated: z.boolean().optional(),
});
export type Usage = z.infer<typeof Usage>;
