import { isCallOfModel, isCallWithReasoning, isIssuedCallId } from './call-ids.ts';
import { textOf, type WireMessage, type WireRequest, type WireToolCall } from './wire-types.ts';

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool']);
/** Ids that we make for calls of another vendor. */
const FOREIGN_CALL_ID = /^call_[0-9a-z]{26}$/;
/** Vendors that answer 400 when any assistant message comes without its reasoning. */
const DEMANDS_REASONING = /kimi-k2|deepseek-(v4|reasoner)/i;
const FUNCTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * What is wrong with a request by the rules real vendors enforce, as one sentence; null when nothing is. Stricter than any single vendor:
 * a request that passes here is accepted by all of them. `takesForeignCalls` is for histories in which another vendor answered.
 */
export function protocolProblem(request: unknown, takesForeignCalls = false): string | null {
  if (!isRecord(request)) return 'the body is not a JSON object';
  if (typeof request.model !== 'string' || request.model === '') return 'model is missing';
  if (!Array.isArray(request.messages) || request.messages.length === 0) return 'messages is missing or empty';
  const checked = request as unknown as WireRequest;
  return toolsProblem(checked) ?? shapeProblem(checked.messages) ?? pairingProblem(checked.messages) ?? ownershipProblem(checked, takesForeignCalls) ?? lastMessageProblem(checked.messages);
}

function toolsProblem({ tools }: WireRequest): string | null {
  if (tools === undefined) return null;
  if (!Array.isArray(tools) || tools.length === 0) return 'tools must be left out or be a non-empty array';
  const names = new Set<string>();
  for (const tool of tools as unknown[]) {
    const definition = isRecord(tool) && tool.type === 'function' && isRecord(tool.function) ? tool.function : null;
    if (definition === null) return 'every tool must be { type: "function", function: { ... } }';
    const { name, parameters } = definition;
    if (typeof name !== 'string' || !FUNCTION_NAME.test(name)) return `tool name ${JSON.stringify(name)} is not allowed`;
    if (names.has(name)) return `tool ${name} is offered twice`;
    if (!isRecord(parameters) || parameters.type !== 'object') return `parameters of tool ${name} are not a JSON Schema of an object`;
    names.add(name);
  }
  return null;
}

function shapeProblem(messages: readonly WireMessage[]): string | null {
  let isPastSystem = false;
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message) || !ROLES.has(message.role)) return `messages[${index}] has unknown role ${JSON.stringify(message?.role)}`;
    const isSystem = message.role === 'system' || message.role === 'developer';
    if (isSystem && isPastSystem) return `messages[${index}]: a system message must come first`;
    isPastSystem ||= !isSystem;
    if (message.tool_calls !== undefined && message.role !== 'assistant') return `messages[${index}]: only an assistant may have tool_calls`;
    if (message.tool_calls === undefined && message.role !== 'tool' && textOf(message.content) === '') return `messages[${index}] (${message.role}) is empty`;
    if (message.role === 'tool' && typeof message.content !== 'string') return `messages[${index}]: content of a tool message must be text`;
  }
  return null;
}

function pairingProblem(messages: readonly WireMessage[]): string | null {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]!;
    if (message.role === 'tool') return `messages[${index}]: tool message ${JSON.stringify(message.tool_call_id)} answers no tool call right before it`;
    if (message.tool_calls === undefined) continue;
    const problem = callsProblem(message.tool_calls) ?? answersProblem(message.tool_calls, messages, index + 1);
    if (problem !== null) return `messages[${index}]: ${problem}`;
    index += message.tool_calls.length;
  }
  return null;
}

function callsProblem(calls: readonly WireToolCall[]): string | null {
  if (!Array.isArray(calls) || calls.length === 0) return 'tool_calls must be left out or be a non-empty array';
  const ids = new Set<string>();
  for (const call of calls as WireToolCall[]) {
    if (call.type !== 'function' || typeof call.function?.name !== 'string' || typeof call.function.arguments !== 'string') return 'a tool call is malformed';
    if (typeof call.id !== 'string' || call.id === '') return 'a tool call has no id';
    if (ids.has(call.id)) return `tool call id ${call.id} is used twice`;
    ids.add(call.id);
  }
  return null;
}

function answersProblem(calls: readonly WireToolCall[], messages: readonly WireMessage[], start: number): string | null {
  const open = new Set(calls.map((call) => call.id));
  for (const message of messages.slice(start, start + calls.length)) {
    if (message.role !== 'tool') break;
    if (!open.delete(message.tool_call_id ?? '')) return `tool message ${JSON.stringify(message.tool_call_id)} does not match an open tool call`;
  }
  return open.size === 0 ? null : `tool calls ${[...open].join(', ')} have no tool message right after them`;
}

/** Calls come back as they were issued, with what was thought before them. */
function ownershipProblem({ model, messages, wantsReasoningBack = true }: WireRequest, takesForeignCalls: boolean): string | null {
  for (const [index, { role, reasoning_content: reasoning = '', tool_calls: calls = [] }] of messages.entries()) {
    if (role === 'assistant' && wantsReasoningBack && DEMANDS_REASONING.test(model) && reasoning === '') return `messages[${index}]: reasoning_content is missing`;
    for (const { id } of calls) {
      if (takesForeignCalls && FOREIGN_CALL_ID.test(id)) continue;
      if (!isIssuedCallId(id) || !isCallOfModel(id, model)) return `messages[${index}]: tool call id ${JSON.stringify(id)} was never issued by this model`;
      if ((wantsReasoningBack || reasoning.trim() !== '') && !isCallWithReasoning(id, reasoning)) return `messages[${index}]: the reasoning of tool call ${id} must come back as it was given`;
    }
  }
  return null;
}

function lastMessageProblem(messages: readonly WireMessage[]): string | null {
  const last = messages.at(-1)!;
  return last.role === 'user' || last.role === 'tool' ? null : `the last message is of role ${last.role}: there is nothing to answer`;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
