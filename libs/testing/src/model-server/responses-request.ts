import type { WireMessage, WireRequest } from './wire-types.ts';

interface Item {
  type: string;
  role?: string;
  content?: { type: string; text: string }[];
  call_id?: string;
  name?: string;
  arguments?: string;
  output?: string;
  encrypted_content?: string;
  summary?: { text: string }[];
}

/** A Responses request as chat completions, or what its vendor would refuse it for. */
export function responsesRequest(body: unknown): WireRequest | string {
  const request = body as { model: string; instructions?: string; input?: Item[]; store?: boolean; include?: string[]; tools?: { name: string; description: string; parameters: unknown }[]; stream?: boolean };
  if (!Array.isArray(request?.input)) return 'input is missing';
  const messages: WireMessage[] = request.instructions === undefined ? [] : [{ role: 'system', content: request.instructions }];
  for (const [position, item] of request.input.entries()) {
    const problem = readItem(messages, item, request.input[position + 1]);
    if (problem !== null) return `input[${position}]: ${problem}`;
  }
  return {
    model: request.model,
    messages,
    ...(request.tools && { tools: request.tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } })) }),
    stream: request.stream === true,
    wantsReasoningBack: request.include?.includes('reasoning.encrypted_content') ?? false,
  };
}

function readItem(messages: WireMessage[], item: Item, next: Item | undefined): string | null {
  const last = messages.at(-1);
  switch (item.type) {
    case 'reasoning':
      if (item.encrypted_content !== 'sealed') return 'reasoning that was not issued here';
      if (next?.type !== 'message' && next?.type !== 'function_call') return 'reasoning without the item that followed it';
      messages.push({ role: 'assistant', content: null, reasoning_content: (item.summary ?? []).map(({ text }) => text).join('') });
      return null;
    case 'message':
      readMessage(messages, item);
      return null;
    case 'function_call': {
      const call = { id: item.call_id ?? '', type: 'function' as const, function: { name: item.name ?? '', arguments: item.arguments ?? '' } };
      if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call];
      else messages.push({ role: 'assistant', content: null, tool_calls: [call] });
      return null;
    }
    case 'function_call_output':
      messages.push({ role: 'tool', tool_call_id: item.call_id ?? '', content: item.output ?? '' });
      return null;
    default:
      return `unknown type ${JSON.stringify(item.type)}`;
  }
}

/** A message that follows its reasoning is one with it. */
function readMessage(messages: WireMessage[], { role = '', content = [] }: Item): void {
  const text = content.map((part) => part.text).join('');
  const last = messages.at(-1);
  if (role === 'assistant' && last?.role === 'assistant' && last.content === null && last.tool_calls === undefined) last.content = text;
  else messages.push({ role, content: text });
}
