import { assertNever } from '#contracts';
import type { ModelRequest } from '#domain';
import type { ModelQuirks } from '../catalog.ts';
import { inCallOrder, wireCallId, type AssistantMessage, type OwnedMessage } from '../wire/owned-messages.ts';
import { isJsonObject } from '../wire/json-members.ts';
import type { RenderOptions } from '../wire/protocol.ts';

/** What the reader kept of an answer: its reasoning items, encrypted, as they came. */
export interface ResponsesReplay {
  reasoning: object[];
}

const reasoningItems = (replay: unknown): object[] => (isJsonObject(replay) && Array.isArray(replay['reasoning']) ? (replay['reasoning'] as object[]) : []);

const assistantItems = (message: AssistantMessage, isOwn: boolean): object[] => [
  ...(isOwn ? reasoningItems(message.replay) : []),
  ...(message.content === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: message.content }] }]),
  ...(message.toolCalls ?? []).map((call) => ({
    type: 'function_call',
    call_id: wireCallId(call, isOwn),
    name: call.name,
    arguments: call.arguments.trim() === '' ? '{}' : call.arguments,
  })),
];

const renderItems = ({ message, isOwn }: OwnedMessage): object[] => {
  switch (message.role) {
    case 'system':
    case 'user':
      return [{ type: 'message', role: message.role, content: [{ type: 'input_text', text: message.content }] }];
    case 'assistant':
      return assistantItems(message, isOwn);
    case 'tool':
      return [{ type: 'function_call_output', call_id: wireCallId(message, isOwn), output: message.content }];
    default:
      return assertNever(message);
  }
};

/** The JSON text of a streamed Responses request. Nothing is kept at the vendor: the whole history is in `input`. */
export function renderResponsesBody(request: ModelRequest, quirks: ModelQuirks, { vendor, plain }: RenderOptions): string {
  const [first, ...rest] = request.messages;
  const hasSystem = first?.role === 'system';
  return JSON.stringify({
    model: request.model,
    ...(hasSystem && { instructions: first.content }),
    input: inCallOrder(hasSystem ? rest : request.messages, vendor).flatMap(renderItems),
    ...(request.tools.length > 0 && { tools: request.tools.map(({ name, description, parameters }) => ({ type: 'function', name, description, parameters, strict: false })) }),
    max_output_tokens: request.maxOutputTokens,
    store: false,
    stream: true,
    ...(quirks.encryptedReasoning && !plain && { include: ['reasoning.encrypted_content'] }),
  });
}
