import type { ModelChunk, ModelMessage, ModelToolDefinition } from '#contracts';

export interface ModelRequest {
  /** The vendor's model name, such as `gpt-5-mini`. */
  model: string;
  messages: ModelMessage[];
  tools: ModelToolDefinition[];
  /** Upper bound for the answer, in tokens. */
  maxOutputTokens: number;
}

/**
 * A model vendor. `stream` delivers chunks in arrival order to `onChunk` and resolves only after a good terminal marker, with one
 * `finish` chunk delivered; every other end throws `QuaestorError` with a `MODEL_*` code, `retryable` decided where it is raised. An
 * abort throws too: a provider never ends quietly (invariant Q-05). Providers retry nothing; the loop does, and counts it.
 */
export interface LanguageModel {
  /** Provider id, such as `openai-compatible`; shown in runs and reports. */
  readonly id: string;
  /** Where calls go, such as `api.openai.com`; the provider id where they go nowhere. */
  readonly host: string;
  stream(request: ModelRequest, onChunk: (chunk: ModelChunk) => void, signal: AbortSignal): Promise<void>;
}

/** Credits a model costs, in microcredits per 1,000 tokens. */
export interface ModelPrice {
  inputMicrocreditsPer1000: number;
  outputMicrocreditsPer1000: number;
  /** Input read from the vendor's cache. Default: the price of input. */
  cachedInputMicrocreditsPer1000?: number;
  /** Output spent on reasoning. Default: the price of output. */
  reasoningMicrocreditsPer1000?: number;
}

/** Names who made an answer: what one vendor's model said in private, and its call ids, are nothing to any other. */
export const vendorOf = (model: Pick<LanguageModel, 'id' | 'host'>, modelName: string): string => `${model.id}:${model.host}/${modelName}`;
