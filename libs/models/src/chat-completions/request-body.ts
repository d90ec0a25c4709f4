import { assertNever, type ModelMessage, type ModelToolCall, type Reasoning } from '#contracts';
import type { ModelRequest } from '#domain';
import type { ModelQuirks } from '../catalog.ts';

type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;
type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** The id a call goes by towards its vendor: its own, byte for byte, or ours when it gave none. */
const wireId = (call: { toolCallId: string; providerCallId: string | null }): string => call.providerCallId || call.toolCallId;

const renderCall = (call: ModelToolCall): object => ({
  id: wireId(call),
  type: 'function',
  // Servers that parse arguments of the history refuse an empty text.
  function: { name: call.name, arguments: call.arguments.trim() === '' ? '{}' : call.arguments },
});

const renderReasoning = (reasoning: Reasoning | undefined, quirks: ModelQuirks): object => {
  if (reasoning !== undefined && reasoning.text !== '') return { [reasoning.field]: reasoning.text };
  return quirks.reasoningRequiredIn === undefined ? {} : { [quirks.reasoningRequiredIn]: ' ' };
};

const renderAssistant = (message: AssistantMessage, quirks: ModelQuirks): object => {
  const calls = message.toolCalls ?? [];
  return {
    role: 'assistant',
    content: message.content === '' && calls.length > 0 ? null : message.content,
    ...renderReasoning(message.reasoning, quirks),
    ...(calls.length > 0 && { tool_calls: calls.map(renderCall) }),
  };
};

const renderMessage = (message: ModelMessage, quirks: ModelQuirks): object => {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'assistant':
      return renderAssistant(message, quirks);
    case 'tool':
      return { role: 'tool', tool_call_id: wireId(message), content: message.content };
    default:
      return assertNever(message);
  }
};

/** Puts the results that follow an assistant message into the order of its calls; vendors that see one id twice pair by order. */
export function inCallOrder(messages: readonly ModelMessage[]): ModelMessage[] {
  const ordered: ModelMessage[] = [];
  let calls: readonly ModelToolCall[] = [];
  let results: ToolMessage[] = [];
  const place = (result: ToolMessage): number => calls.findIndex((call) => call.toolCallId === result.toolCallId);
  const flush = (): void => {
    ordered.push(...results.sort((left, right) => place(left) - place(right)));
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      results.push(message);
      continue;
    }
    flush();
    calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    ordered.push(message);
  }
  flush();
  return ordered;
}

/** The JSON text of a streamed chat-completions request. Members that some servers refuse are left out unless they are needed. */
export function renderRequestBody(request: ModelRequest, quirks: ModelQuirks, withUsage: boolean): string {
  return JSON.stringify({
    model: request.model,
    messages: inCallOrder(request.messages).map((message) => renderMessage(message, quirks)),
    ...(request.tools.length > 0 && { tools: request.tools.map((tool) => ({ type: 'function', function: tool })) }),
    [quirks.maxTokensField]: request.maxOutputTokens,
    stream: true,
    ...(withUsage && { stream_options: { include_usage: true } }),
  });
}
