import { describeModel } from '../catalog.ts';
import type { WireProtocol } from '../wire/protocol.ts';
import { CompletionReader } from './completion-reader.ts';
import { renderRequestBody } from './request-body.ts';

/** The chat-completions protocol, as OpenAI made it and dozens of servers speak it. */
export const CHAT_COMPLETIONS: WireProtocol = {
  id: 'openai-compatible',
  path: '/chat/completions',
  headers: (apiKey): Record<string, string> => (apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
  render: (request, options) => renderRequestBody(request, describeModel(request.model).quirks, options),
  // older servers do not know this member
  refusesExtra: (status, body) => (status === 400 || status === 422) && /stream_options|include_usage/.test(body),
  createReader: (options) => new CompletionReader(options),
};
