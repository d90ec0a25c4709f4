// Marks by which chat templates of common model families tell turns, roles and tool calls apart.
const TEMPLATE_TOKEN =
  /<(?=\|[a-z0-9_]{1,32}\|>|\/?(?:start_of_turn|end_of_turn|begin_of_text|bos|eos|s|think|tool_calls?|tool_responses?|tool_results?|function_calls?|function_results?)>|<\/?SYS>>|｜)|\[(?=\/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\])/gi;

/**
 * Sets a space behind the first character of every chat-template token, so that a model server which reads such tokens from plain text
 * sees words and no turn of another role. Everything else is untouched. Idempotent.
 */
export function withoutTemplateTokens(text: string): string {
  return text.replace(TEMPLATE_TOKEN, '$& ');
}
