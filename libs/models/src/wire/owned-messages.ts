import type { ModelMessage, ModelToolCall } from '#contracts';

export type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;
type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** A message and whether the asked vendor made it, or, for a result, made its call. */
export interface OwnedMessage {
  message: ModelMessage;
  isOwn: boolean;
}

/** The id a call goes by: towards its own vendor that one's id, byte for byte; ours towards all others, or when it gave none. */
export const wireCallId = (call: Pick<ModelToolCall, 'toolCallId' | 'providerCallId'>, isOwn: boolean): string => (isOwn && call.providerCallId) || call.toolCallId;

/**
 * Puts the results that follow an assistant message into the order of its calls, because vendors that see one id twice pair by order, and
 * says of each message whether `vendor` made it.
 */
export function inCallOrder(messages: readonly ModelMessage[], vendor: string): OwnedMessage[] {
  const ordered: OwnedMessage[] = [];
  let isOwn = false;
  let calls: readonly ModelToolCall[] = [];
  let results: ToolMessage[] = [];
  const place = (result: ToolMessage): number => calls.findIndex((call) => call.toolCallId === result.toolCallId);
  const flush = (): void => {
    results.sort((left, right) => place(left) - place(right));
    for (const message of results) ordered.push({ message, isOwn });
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      results.push(message);
      continue;
    }
    flush();
    isOwn = message.role === 'assistant' && message.vendor === vendor;
    calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    ordered.push({ message, isOwn });
  }
  flush();
  return ordered;
}
