import { assertNever, type ModelMessage } from '#contracts';
import type { ModelRequest } from '#domain';
import { inCallOrder, wireCallId, type AssistantMessage, type OwnedMessage } from '../wire/owned-messages.ts';
import { isJsonObject } from '../wire/json-members.ts';
import type { RenderOptions } from '../wire/protocol.ts';

interface Turn {
  role: 'user' | 'assistant';
  content: object[];
}

/** What the reader kept of an answer: its thinking blocks, signed, as they came. */
export interface MessagesReplay {
  thinking: object[];
}

export const thinkingOf = (replay: unknown): object[] => (isJsonObject(replay) && Array.isArray(replay['thinking']) ? (replay['thinking'] as object[]) : []);

/** Input is an object on this wire; what does not parse was answered with an error and is shown as the text it was. */
const inputOf = (text: string): unknown => {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : { arguments: text };
  } catch {
    return { arguments: text };
  }
};

const assistantContent = (message: AssistantMessage, isOwn: boolean): object[] => [
  ...(isOwn ? thinkingOf(message.replay) : []),
  ...(message.content.trim() === '' ? [] : [{ type: 'text', text: message.content }]),
  ...(message.toolCalls ?? []).map((call) => ({ type: 'tool_use', id: wireCallId(call, isOwn), name: call.name, input: inputOf(call.arguments) })),
];

const render = ({ message, isOwn }: OwnedMessage): Turn => {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.content }] };
    case 'assistant':
      return { role: 'assistant', content: assistantContent(message, isOwn) };
    case 'tool':
      return { role: 'user', content: [{ type: 'tool_result', tool_use_id: wireCallId(message, isOwn), content: message.content, ...(message.isError && { is_error: true }) }] };
    default:
      return assertNever(message);
  }
};

/** Results of one answer must stand in one message, and a note after them may not stand in another. */
const joinTurns = (turns: readonly Turn[]): Turn[] => {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last?.role === turn.role) last.content.push(...turn.content);
    else joined.push({ role: turn.role, content: [...turn.content] });
  }
  return joined;
};

const isLeadingSystem = (messages: readonly ModelMessage[]): boolean => messages[0]?.role === 'system';

/** The JSON text of a streamed request of the Messages protocol. A plain request has no cache marks. */
export function renderMessagesBody(request: ModelRequest, { vendor, plain }: RenderOptions): string {
  const [first, ...rest] = request.messages;
  const hasSystem = isLeadingSystem(request.messages);
  const turns = joinTurns(inCallOrder(hasSystem ? rest : request.messages, vendor).map(render)).filter((turn) => turn.content.length > 0);
  const cache = plain ? {} : { cache_control: { type: 'ephemeral' } };
  markLast(turns, cache);
  return JSON.stringify({
    model: request.model,
    max_tokens: request.maxOutputTokens,
    ...(hasSystem && first?.content && { system: [{ type: 'text', text: first.content, ...cache }] }),
    messages: turns,
    ...(request.tools.length > 0 && { tools: request.tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })) }),
    stream: true,
  });
}

/** Marks the newest content, so that the whole prompt before it is read from the vendor's cache at the next turn. */
function markLast(turns: readonly Turn[], cache: object): void {
  const content = turns.at(-1)?.content;
  const last = content?.at(-1);
  if (content !== undefined && last !== undefined) content[content.length - 1] = { ...last, ...cache };
}
