import type { PastCall, ScriptRequest } from './script.ts';
import { textOf, type WireMessage, type WireRequest } from './wire-types.ts';

/** `bench(n4,k6) run.abc` or `run.abc` alone, anywhere in a user message. */
const DIRECTIVE = /(?:\b([a-z][a-z-]*)\(([^()]*)\)\s+)?run\.([A-Za-z0-9_-]+)/;

export interface Directive {
  scriptName: string | null;
  parameters: Map<string, string>;
  runId: string;
  carried: string;
}

/** The first directive in the user messages; a conversation without one belongs to run `none`. */
export function directiveOf(messages: readonly WireMessage[]): Directive {
  for (const message of messages) {
    const match = message.role === 'user' ? DIRECTIVE.exec(textOf(message.content)) : null;
    if (match === null) continue;
    const [carried, scriptName = null, parameters = '', runId = 'none'] = match;
    return { scriptName: scriptName ?? null, parameters: parseParameters(parameters), runId, carried };
  }
  return { scriptName: null, parameters: new Map(), runId: 'none', carried: 'run.none' };
}

/** `n4` and `seed=ab12`, separated by commas. */
function parseParameters(text: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of text.split(',')) {
    const match = /^\s*(?:([a-z]+)=(\S+)|([a-z])(\d+))\s*$/.exec(part);
    if (match !== null) parameters.set(match[1] ?? match[3]!, match[2] ?? match[4]!);
  }
  return parameters;
}

/** What a script may decide from. */
export function scriptRequest(request: WireRequest, directive: Directive, webUrl: string): ScriptRequest {
  const offeredTools = new Set(request.tools?.map((tool) => tool.function.name) ?? []);
  const calls = pastCalls(request.messages);
  return {
    role: roleOf(request, offeredTools, calls),
    runId: directive.runId,
    carried: directive.carried,
    parameters: directive.parameters,
    question: firstUserText(request.messages),
    offeredTools,
    calls,
    timesAsked: 0,
    webUrl,
  };
}

// On a last turn no tools are offered: then what was called before decides, and before any call what the instructions say.
function roleOf(request: WireRequest, offered: ReadonlySet<string>, calls: readonly PastCall[]): ScriptRequest['role'] {
  if (offered.has('delegate_research_task') || calls.some((call) => call.name === 'delegate_research_task')) return 'supervisor';
  if (offered.has('perform_web_search') || calls.some((call) => call.name === 'perform_web_search')) return 'worker';
  const instructions = request.messages.filter((message) => message.role === 'system').map((message) => textOf(message.content)).join('\n');
  if (/\bsupervisor\b/i.test(instructions) && !/\byou are a [^.]*worker\b/i.test(instructions)) return 'supervisor';
  return /\bworker\b/i.test(instructions) ? 'worker' : 'other';
}

function pastCalls(messages: readonly WireMessage[]): PastCall[] {
  const results = new Map<string, string>();
  for (const message of messages) if (message.role === 'tool') results.set(message.tool_call_id ?? '', textOf(message.content));
  return messages.flatMap((message) =>
    (message.tool_calls ?? []).map((call) => ({ name: call.function.name, arguments: call.function.arguments, result: results.get(call.id) ?? '' })),
  );
}

function firstUserText(messages: readonly WireMessage[]): string {
  const asked = messages.find((message) => message.role === 'user');
  return asked === undefined ? '' : textOf(asked.content);
}
