import type { ModelChunk } from '#contracts';
import type { OfferedTools } from '../text-forms/text-forms.ts';
import type { ProviderFailures } from './errors.ts';

/**
 * Reads the events of one streamed answer and emits model chunks, synchronously and in arrival order. Throws as soon as the stream cannot
 * end well. Nothing counts as an answer before `complete` has returned.
 */
export interface StreamReader {
  /** True after the protocol's end marker; nothing that follows it is read. */
  readonly done: boolean;
  /** Returns false for an event that carries nothing, such as a heartbeat: it does not break a silence. */
  acceptEvent(data: string, event: string | undefined): boolean;
  /** Emits the last usage the server reported, also of a call that failed; safe to repeat. */
  flushUsage(): void;
  /** Call after a normal end of the bytes. Emits usage and the finish chunk; throws when the protocol's own end had not come. */
  complete(): void;
}

export interface ReaderOptions {
  emit: (chunk: ModelChunk) => void;
  failures: ProviderFailures;
  /** The model that was asked, as the vendor spells it: its quirks decide how its text is read. */
  model: string;
  /** The tools that were offered. */
  tools: OfferedTools;
  /** Upper bound of the answer that was asked for, in tokens. */
  maxOutputTokens: number;
}
