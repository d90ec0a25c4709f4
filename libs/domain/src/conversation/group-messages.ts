import type { ModelMessage } from '#contracts';

/** Messages that are kept, cut or summarised as one: an assistant's tool calls with all their results, or one ordinary message. */
export interface MessageGroup {
  messages: ModelMessage[];
  /** Tool calls of the group that have no result yet. Such a group is never cut. */
  openCalls: number;
}

/**
 * Splits a history into its atomic groups, in order. A tool message joins the group whose call it answers; one that answers no open call
 * of the current group stands alone (`correlateTools` reports it). Changes and merges nothing: the groups put together are the history.
 */
export function groupMessages(messages: readonly ModelMessage[]): MessageGroup[] {
  const groups: MessageGroup[] = [];
  let open = new Set<string>();
  for (const message of messages) {
    const last = groups.at(-1);
    if (message.role === 'tool' && last !== undefined && open.delete(message.toolCallId)) {
      last.messages.push(message);
      last.openCalls = open.size;
      continue;
    }
    open = new Set(message.role === 'assistant' ? message.toolCalls?.map((call) => call.toolCallId) : []);
    groups.push({ messages: [message], openCalls: open.size });
  }
  return groups;
}
