import type { ModelChunk, ModelMessage, ModelToolDefinition } from '#contracts';

export interface ModelRequest {
  /** The vendor's model name, such as `gpt-5-mini`. */
  model: string;
  messages: ModelMessage[];
  tools: ModelToolDefinition[];
  /** Upper bound for the answer, in tokens. */
  maxOutputTokens: number;
  /** The caller gives the call up after so many milliseconds: a wait that would take longer is not begun. */
  timeoutMs?: number;
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

/** A model with everything a call of it needs. */
export interface ModelChoice {
  model: LanguageModel;
  /** Goes into each request. */
  modelName: string;
  price: ModelPrice;
  /** Upper bound for one answer, in tokens. */
  maxOutputTokens: number;
}

/** What a model is asked to do. `synthesis` is a call that can only write: the report of a stopped run, or a supervisor's last turn. */
export type ModelRole = 'supervisor' | 'worker' | 'synthesis';

/** Models of each role, the preferred one first; the others are its fallbacks, in order. */
export type ModelRoster = Record<ModelRole, readonly [ModelChoice, ...ModelChoice[]]>;

export const sameModelForAll = (choice: ModelChoice): ModelRoster => ({ supervisor: [choice], worker: [choice], synthesis: [choice] });

export const modelRoleOf = (role: 'supervisor' | 'worker', offersTools: boolean, isFinishing: boolean): ModelRole =>
  isFinishing || (role === 'supervisor' && !offersTools) ? 'synthesis' : role;
