/** The part of the OpenAI chat completions request that the scripted server reads. */
export interface WireToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export interface WireMessage {
  role: string;
  content?: string | { type: string; text?: string }[] | null;
  tool_calls?: WireToolCall[];
  tool_call_id?: string;
  /** What the model thought before this message, in whichever form its protocol gives it back. */
  reasoning_content?: string;
}

export interface WireTool {
  type: string;
  function: { name: string; description?: string; parameters?: unknown };
}

export interface WireRequest {
  model: string;
  messages: WireMessage[];
  tools?: WireTool[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  max_tokens?: number;
  max_completion_tokens?: number;
  /** False where the request did not ask the model to think, which then does not. Default true. */
  thinks?: boolean;
  /** False where the reasoning of an answer may be left out of the history. Default true. */
  wantsReasoningBack?: boolean;
}

export function textOf(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  return content?.map((part) => part.text ?? '').join('') ?? '';
}
