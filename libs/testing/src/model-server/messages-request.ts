import type { WireMessage, WireRequest } from './wire-types.ts';

interface Block {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: string;
  signature?: string;
}

interface Turn {
  role: string;
  content: Block[];
}

/** A request of the Messages protocol as chat completions, or what its vendor would refuse it for. */
export function messagesRequest(body: unknown): WireRequest | string {
  const request = body as { model: string; max_tokens?: number; system?: Block[]; messages?: Turn[]; tools?: { name: string; description: string; input_schema: unknown }[]; stream?: boolean };
  if (!Array.isArray(request?.messages)) return 'messages is missing';
  if (!Number.isInteger(request.max_tokens)) return 'max_tokens is missing';
  const turns = request.messages.map(readTurn);
  const problem = turns.find((turn) => typeof turn === 'string') ?? orderProblem(request.messages);
  if (typeof problem === 'string') return problem;
  const system: WireMessage[] = request.system === undefined ? [] : [{ role: 'system', content: request.system.map(({ text }) => text ?? '').join('') }];
  return {
    model: request.model,
    messages: [...system, ...(turns as WireMessage[][]).flat()],
    ...(request.tools && { tools: request.tools.map(({ name, description, input_schema }) => ({ type: 'function', function: { name, description, parameters: input_schema } })) }),
    stream: request.stream === true,
  };
}

function orderProblem(turns: readonly Turn[]): string | null {
  if (turns[0]?.role !== 'user') return 'the first message must be of the user';
  const twice = turns.findIndex((turn, position) => turn.role === turns[position - 1]?.role);
  return twice < 0 ? null : `messages[${twice}]: roles must alternate`;
}

function readTurn({ role, content }: Turn): WireMessage[] | string {
  if (!Array.isArray(content) || content.length === 0) return 'a message is empty';
  return role === 'assistant' ? readAssistant(content) : readUser(content);
}

function readAssistant(content: readonly Block[]): WireMessage[] | string {
  const thinking = content.findIndex(({ type }) => type === 'thinking');
  if (thinking > 0 || content.some(({ type, signature }) => type === 'thinking' && signature !== 'sealed')) return 'thinking must come first, with its own signature';
  const calls = content.filter(({ type }) => type === 'tool_use').map(({ id = '', name = '', input }) => ({ id, type: 'function' as const, function: { name, arguments: JSON.stringify(input) } }));
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  return [{ role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls: calls }) }];
}

function readUser(content: readonly Block[]): WireMessage[] | string {
  const firstText = content.findIndex(({ type }) => type === 'text');
  if (firstText >= 0 && content.slice(firstText).some(({ type }) => type === 'tool_result')) return 'tool results must come before text';
  return content.map((block): WireMessage => (block.type === 'tool_result' ? { role: 'tool', tool_call_id: block.tool_use_id ?? '', content: block.content ?? '' } : { role: 'user', content: block.text ?? '' }));
}
