import type { z } from 'zod';
import { ANTHROPIC_MESSAGES } from '../anthropic/protocol.ts';
import { CHAT_COMPLETIONS } from '../chat-completions/protocol.ts';
import { modelConfig } from '../config.ts';
import { OPENAI_RESPONSES } from '../responses/protocol.ts';
import type { WireProtocol } from '../wire/protocol.ts';
import { StreamedModel } from '../wire/streamed-model.ts';
import type { ModelProvider } from './provider.ts';

const streamedConfig = modelConfig
  .pick({ MODEL_BASE_URL: true, MODEL_API_KEY: true, MODEL_THINKING: true, MODEL_IDLE_TIMEOUT_MS: true, MODEL_CALL_TIMEOUT_MS: true })
  .required({ MODEL_BASE_URL: true });

const providerOf = (protocol: WireProtocol) =>
  ({
    id: protocol.id,
    config: streamedConfig,
    create: (config: z.infer<typeof streamedConfig>) =>
      new StreamedModel(protocol, {
        baseUrl: config.MODEL_BASE_URL,
        apiKey: config.MODEL_API_KEY,
        thinks: config.MODEL_THINKING === 'on',
        idleTimeoutMs: config.MODEL_IDLE_TIMEOUT_MS,
        callTimeoutMs: config.MODEL_CALL_TIMEOUT_MS,
      }),
  }) satisfies ModelProvider;

/** The vendors that are spoken to over HTTP. */
export const openAiCompatibleProvider = providerOf(CHAT_COMPLETIONS);
export const openAiResponsesProvider = providerOf(OPENAI_RESPONSES);
export const anthropicProvider = providerOf(ANTHROPIC_MESSAGES);
