import { assertNever, type ModelMessage } from '#contracts';
import type { ModelRequest } from '#domain';
import type { ModelQuirks } from '../catalog.ts';
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

/** Smallest bound of thinking that the vendor takes. */
const THINKING_TOKENS_MIN = 1_024;

const assistantContent = (message: AssistantMessage, isOwn: boolean, keepsThinking: boolean): object[] => [
  ...(isOwn && keepsThinking ? thinkingOf(message.replay) : []),
  ...(message.content.trim() === '' ? [] : [{ type: 'text', text: message.content }]),
  ...(message.toolCalls ?? []).map((call) => ({ type: 'tool_use', id: wireCallId(call, isOwn), name: call.name, input: inputOf(call.arguments) })),
];

const render = ({ message, isOwn }: OwnedMessage, keepsThinking: boolean): Turn => {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.content }] };
    case 'assistant':
      return { role: 'assistant', content: assistantContent(message, isOwn, keepsThinking) };
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

/**
 * True when an answer to these messages may be thought about. A tool loop is one turn to the vendor, and one that began with thinking is
 * refused when a part of it has none: so a loop that another model had a hand in, or that began without, goes on without.
 */
function mayThink(messages: readonly OwnedMessage[]): boolean {
  const answers = messages.flatMap(({ message, isOwn }) => (message.role === 'assistant' ? [{ message, isOwn }] : []));
  const loop = answers.slice(answers.findLastIndex(({ message }) => (message.toolCalls ?? []).length === 0) + 1);
  return loop.every(({ isOwn }) => isOwn) && (loop[0] === undefined || thinkingOf(loop[0].message.replay).length > 0);
}

/** What asks for thinking, empty where none is to be had. The bound must leave room for an answer. */
function thinkingMember({ maxOutputTokens }: ModelRequest, { thinking }: ModelQuirks, messages: readonly OwnedMessage[]): object {
  if (thinking === 'adaptive') return { thinking: { type: 'adaptive' } };
  const budgetTokens = Math.max(THINKING_TOKENS_MIN, Math.floor(maxOutputTokens / 2));
  if (thinking === 'none' || budgetTokens >= maxOutputTokens || !mayThink(messages)) return {};
  return { thinking: { type: 'enabled', budget_tokens: budgetTokens } };
}

/** The JSON text of a streamed request of the Messages protocol. A plain request has no cache marks. */
export function renderMessagesBody(request: ModelRequest, quirks: ModelQuirks, { vendor, plain, thinks }: RenderOptions): string {
  const [first, ...rest] = request.messages;
  const hasSystem = isLeadingSystem(request.messages);
  const messages = inCallOrder(hasSystem ? rest : request.messages, vendor);
  const thinking = thinks ? thinkingMember(request, quirks, messages) : {};
  // a model that was not asked to think may have done so of its own, and then wants it back
  const keepsThinking = !thinks || 'thinking' in thinking;
  const turns = joinTurns(messages.map((message) => render(message, keepsThinking))).filter((turn) => turn.content.length > 0);
  const cache = plain ? {} : { cache_control: { type: 'ephemeral' } };
  markLast(turns, cache);
  return JSON.stringify({
    model: request.model,
    max_tokens: request.maxOutputTokens,
    ...thinking,
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
