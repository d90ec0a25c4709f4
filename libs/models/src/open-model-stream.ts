import { ANTHROPIC_MESSAGES } from './anthropic/protocol.ts';
import { CHAT_COMPLETIONS } from './chat-completions/protocol.ts';
import { OPENAI_RESPONSES } from './responses/protocol.ts';
import { ProviderFailures } from './wire/errors.ts';
import { ModelStream } from './wire/model-stream.ts';
import type { WireProtocol } from './wire/protocol.ts';
import type { ReaderOptions } from './wire/stream-reader.ts';

export const WIRE_PROTOCOLS: readonly WireProtocol[] = [CHAT_COMPLETIONS, OPENAI_RESPONSES, ANTHROPIC_MESSAGES];

/** Reads one recorded answer from its bytes, without a connection: feed it, end it, complete it. Throws for a protocol that is not there. */
export function openModelStream(protocolId: string, options: Omit<ReaderOptions, 'failures'>): ModelStream {
  const protocol = WIRE_PROTOCOLS.find(({ id }) => id === protocolId);
  if (protocol === undefined) throw new Error(`there is no protocol ${protocolId}`);
  const failures = new ProviderFailures('recorded', undefined);
  return new ModelStream(protocol.createReader({ ...options, failures }), failures, () => undefined);
}
