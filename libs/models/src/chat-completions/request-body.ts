import { assertNever, type ModelToolCall } from '#contracts';
import type { ModelRequest } from '#domain';
import type { ModelQuirks } from '../catalog.ts';
import { inCallOrder, wireCallId, type AssistantMessage, type OwnedMessage } from '../wire/owned-messages.ts';
import type { RenderOptions } from '../wire/protocol.ts';

const renderCall = (call: ModelToolCall, isOwn: boolean): object => ({
  id: wireCallId(call, isOwn),
  type: 'function',
  // Servers that parse arguments of the history refuse an empty text.
  function: { name: call.name, arguments: call.arguments.trim() === '' ? '{}' : call.arguments },
});

const renderReasoning = ({ reasoning }: AssistantMessage, isOwn: boolean, quirks: ModelQuirks): object => {
  if (isOwn && reasoning !== undefined && reasoning.text !== '') return { [reasoning.field]: reasoning.text };
  return quirks.reasoningRequiredIn === undefined ? {} : { [quirks.reasoningRequiredIn]: ' ' };
};

const renderAssistant = (message: AssistantMessage, isOwn: boolean, quirks: ModelQuirks): object => {
  const calls = message.toolCalls ?? [];
  return {
    role: 'assistant',
    content: message.content === '' && calls.length > 0 ? null : message.content,
    ...renderReasoning(message, isOwn, quirks),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => renderCall(call, isOwn)) }),
  };
};

const renderMessage = ({ message, isOwn }: OwnedMessage, quirks: ModelQuirks): object => {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'assistant':
      return renderAssistant(message, isOwn, quirks);
    case 'tool':
      return { role: 'tool', tool_call_id: wireCallId(message, isOwn), content: message.content };
    default:
      return assertNever(message);
  }
};

/** The JSON text of a streamed chat-completions request. Members that some servers refuse are left out unless they are needed. */
export function renderRequestBody(request: ModelRequest, quirks: ModelQuirks, { vendor, plain }: RenderOptions): string {
  return JSON.stringify({
    model: request.model,
    messages: inCallOrder(request.messages, vendor).map((message) => renderMessage(message, quirks)),
    ...(request.tools.length > 0 && { tools: request.tools.map((tool) => ({ type: 'function', function: tool })) }),
    [quirks.maxTokensField]: request.maxOutputTokens,
    stream: true,
    ...(!plain && { stream_options: { include_usage: true } }),
  });
}
