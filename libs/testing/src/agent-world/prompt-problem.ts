import type { ModelMessage } from '#contracts';
import type { ModelRequest } from '#domain';

/**
 * What is wrong with a prompt by the rules of model vendors, as one sentence; null when nothing is. Written apart from the engine's own
 * check, and stricter: results stand in the order of their calls.
 */
export function promptProblem({ messages, tools }: ModelRequest): string | null {
  if (messages[0]?.role !== 'system') return 'the first message is not the system message';
  if (messages.filter(({ role }) => role === 'system').length > 1) return 'there is a second system message';
  if (messages[1]?.role !== 'user') return 'the question does not follow the system message';
  const last = messages.at(-1)!;
  if (last.role !== 'user' && last.role !== 'tool') return `the last message is of role ${last.role}: there is nothing to answer`;
  if (new Set(tools.map(({ name }) => name)).size < tools.length) return 'a tool is offered twice';
  return emptyProblem(messages) ?? pairingProblem(messages);
}

function emptyProblem(messages: readonly ModelMessage[]): string | null {
  const at = messages.findIndex((message) => message.content === '' && !(message.role === 'assistant' && (message.toolCalls?.length ?? 0) > 0));
  return at < 0 ? null : `message ${at} (${messages[at]!.role}) is empty`;
}

function pairingProblem(messages: readonly ModelMessage[]): string | null {
  const seen = new Set<string>();
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    if (message.role === 'tool') return `message ${at} answers no call right before it`;
    if (message.role !== 'assistant' || message.toolCalls === undefined) continue;
    if (message.toolCalls.length === 0) return `message ${at} has an empty list of calls`;
    for (const call of message.toolCalls) {
      const answer = messages[++at];
      if (answer?.role !== 'tool' || answer.toolCallId !== call.toolCallId) return `call ${call.toolCallId} is not answered in its place`;
      if (answer.providerCallId !== call.providerCallId || answer.name !== call.name) return `the answer of call ${call.toolCallId} names another call`;
      if (seen.size === seen.add(call.toolCallId).size) return `call ${call.toolCallId} stands there twice`;
    }
  }
  return null;
}
