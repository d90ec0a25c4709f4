import { createHash } from 'node:crypto';
import { MODEL_CALL_TIMEOUT_MS, QuaestorError, type ModelChunk } from '#contracts';
import type { LanguageModel, ModelGate, ModelRequest } from '#domain';

const KEY_CHARS = 32;

/** Names an endpoint and key together, without telling either. */
const gateKey = (host: string, apiKey: string | undefined): string => createHash('sha256').update(`${host}\n${apiKey ?? ''}`).digest('hex').slice(0, KEY_CHARS);

/** A model whose calls pass a gate first, and whose wish to be left alone is told to all who share it. */
class GatedModel implements LanguageModel {
  readonly id: string;
  readonly host: string;
  readonly #model: LanguageModel;
  readonly #gate: ModelGate;
  readonly #key: string;

  constructor(model: LanguageModel, gate: ModelGate, key: string) {
    this.id = model.id;
    this.host = model.host;
    this.#model = model;
    this.#gate = gate;
    this.#key = key;
  }

  async stream(request: ModelRequest, onChunk: (chunk: ModelChunk) => void, signal: AbortSignal): Promise<void> {
    const leave = await this.#gate.enter(this.#key, request.timeoutMs ?? MODEL_CALL_TIMEOUT_MS, signal);
    try {
      await this.#model.stream(request, onChunk, signal);
    } catch (error) {
      if (error instanceof QuaestorError && error.retryable && error.retryAfterMs !== undefined) await this.#gate.pause(this.#key, error.retryAfterMs);
      throw error;
    } finally {
      leave();
    }
  }
}

/** Puts models that call somebody behind a gate; for `createModels`. */
export const behindGate =
  (gate: ModelGate) =>
  (model: LanguageModel, apiKey: string | undefined): LanguageModel =>
    model.id === 'extractive' ? model : new GatedModel(model, gate, gateKey(model.host, apiKey));
