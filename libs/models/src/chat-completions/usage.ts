import type { Usage } from '#contracts';
import { isJsonObject } from '../wire/json-members.ts';

/** A count of tokens, or undefined when the value is none. */
export const count = (value: unknown): number | undefined => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined);

const detail = (usage: Readonly<Record<string, unknown>>, group: string, key: string): number | undefined => {
  const details = usage[group];
  return isJsonObject(details) ? count(details[key]) : undefined;
};

/** Reads a usage object of the chat-completions protocol; undefined when it does not hold both token counts. Unknown members are ignored. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const inputTokens = count(value['prompt_tokens']);
  const outputTokens = count(value['completion_tokens']);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const cacheReadTokens = detail(value, 'prompt_tokens_details', 'cached_tokens') ?? count(value['prompt_cache_hit_tokens']);
  const reasoningTokens = detail(value, 'completion_tokens_details', 'reasoning_tokens');
  return { inputTokens, outputTokens, ...(cacheReadTokens !== undefined && { cacheReadTokens }), ...(reasoningTokens !== undefined && { reasoningTokens }) };
}
