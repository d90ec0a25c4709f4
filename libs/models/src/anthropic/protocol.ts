import { describeModel } from '../catalog.ts';
import type { WireProtocol } from '../wire/protocol.ts';
import { MessagesReader } from './messages-reader.ts';
import { renderMessagesBody } from './request-body.ts';

/** Version of the protocol that is spoken, which each request must name. */
const VERSION = '2023-06-01';

/** Anthropic's Messages protocol. */
export const ANTHROPIC_MESSAGES: WireProtocol = {
  id: 'anthropic',
  path: '/messages',
  headers: (apiKey) => ({ 'anthropic-version': VERSION, ...(apiKey && { 'x-api-key': apiKey }) }),
  render: (request, options) => renderMessagesBody(request, describeModel(request.model).quirks, options),
  refusesExtra: (status, body) => status === 400 && body.includes('cache_control'),
  createReader: (options) => new MessagesReader(options),
};
