import { isIssuedCallId } from './call-ids.ts';
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
  thinking?: string;
}

interface Thinking {
  type: string;
  budget_tokens?: number;
}

interface Turn {
  role: string;
  content: Block[];
}

/** A request of the Messages protocol as chat completions, or what its vendor would refuse it for. */
export function messagesRequest(body: unknown): WireRequest | string {
  const request = body as { model: string; max_tokens?: number; thinking?: Thinking; system?: Block[]; messages?: Turn[]; tools?: { name: string; description: string; input_schema: unknown }[]; stream?: boolean };
  if (!Array.isArray(request?.messages)) return 'messages is missing';
  if (!Number.isInteger(request.max_tokens)) return 'max_tokens is missing';
  const turns = request.messages.map(readTurn);
  const problem = turns.find((turn) => typeof turn === 'string') ?? orderProblem(request.messages) ?? thinkingProblem(request.thinking, request.max_tokens ?? 0, request.messages);
  if (typeof problem === 'string') return problem;
  const system: WireMessage[] = request.system === undefined ? [] : [{ role: 'system', content: request.system.map(({ text }) => text ?? '').join('') }];
  return {
    model: request.model,
    messages: [...system, ...(turns as WireMessage[][]).flat()],
    ...(request.tools && { tools: request.tools.map(({ name, description, input_schema }) => ({ type: 'function', function: { name, description, parameters: input_schema } })) }),
    stream: request.stream === true,
    thinks: request.thinking !== undefined,
    wantsReasoningBack: request.thinking !== undefined,
  };
}

function orderProblem(turns: readonly Turn[]): string | null {
  if (turns[0]?.role !== 'user') return 'the first message must be of the user';
  const twice = turns.findIndex((turn, position) => turn.role === turns[position - 1]?.role);
  return twice < 0 ? null : `messages[${twice}]: roles must alternate`;
}

/** A tool loop that is thought about must have been thought about from its beginning, by this model. */
function thinkingProblem(thinking: Thinking | undefined, maxTokens: number, turns: readonly Turn[]): string | null {
  if (thinking?.type !== 'enabled') return null;
  if (!(thinking.budget_tokens! >= 1_024 && thinking.budget_tokens! < maxTokens)) return 'thinking.budget_tokens must be at least 1024 and less than max_tokens';
  const answers = turns.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  const loop = answers.slice(answers.findLastIndex((content) => content.every(({ type }) => type !== 'tool_use')) + 1);
  const isBare = (content: readonly Block[], position: number): boolean => content[0]?.type !== 'thinking' && (position === 0 || content.some(({ type, id = '' }) => type === 'tool_use' && !isIssuedCallId(id)));
  return loop.some(isBare) ? 'expected thinking as the first block of an assistant message, as thinking is enabled' : null;
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
  const reasoning = content.map((block) => block.thinking ?? '').join('');
  return [{ role: 'assistant', content: text, ...(reasoning !== '' && { reasoning_content: reasoning }), ...(calls.length > 0 && { tool_calls: calls }) }];
}

function readUser(content: readonly Block[]): WireMessage[] | string {
  const firstText = content.findIndex(({ type }) => type === 'text');
  if (firstText >= 0 && content.slice(firstText).some(({ type }) => type === 'tool_result')) return 'tool results must come before text';
  return content.map((block): WireMessage => (block.type === 'tool_result' ? { role: 'tool', tool_call_id: block.tool_use_id ?? '', content: block.content ?? '' } : { role: 'user', content: block.text ?? '' }));
}
