import { describeModel } from '../catalog.ts';
import type { WireProtocol } from '../wire/protocol.ts';
import { renderResponsesBody } from './request-body.ts';
import { ResponsesReader } from './responses-reader.ts';

/** OpenAI's Responses protocol. */
export const OPENAI_RESPONSES: WireProtocol = {
  id: 'openai-responses',
  path: '/responses',
  headers: (apiKey): Record<string, string> => (apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
  render: (request, options) => renderResponsesBody(request, describeModel(request.model).quirks, options),
  refusesExtra: (status, body) => status === 400 && /encrypted_content|'include'|"include"/.test(body),
  createReader: (options) => new ResponsesReader(options),
};
