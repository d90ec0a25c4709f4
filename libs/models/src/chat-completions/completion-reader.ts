import type { FinishReason, ModelChunk, ReasoningField, Usage } from '#contracts';
import { findInBandError, type ProviderFailures } from '../errors.ts';
import { isJsonObject, textOf, type JsonObject } from './json-members.ts';
import { ToolCallTracker } from './tool-call-tracker.ts';
import { readUsage } from './usage.ts';

/** Longest text, and longest reasoning, of one answer in characters. */
const ANSWER_CHARS_MAX = 4 * 1024 * 1024;

const FINISH_REASONS: Readonly<Record<string, FinishReason['kind']>> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  length: 'max-tokens',
  content_filter: 'content-filter',
};

/** When a server names several reasons the gravest counts: a late filter verdict is not undone by an earlier stop. */
const GRAVITY: Readonly<Record<FinishReason['kind'], number>> = { stop: 0, 'tool-calls': 1, 'max-tokens': 2, 'content-filter': 3 };

const NO_ENTRIES: readonly unknown[] = [];

const otherField = (field: ReasoningField): ReasoningField => (field === 'reasoning' ? 'reasoning_content' : 'reasoning');

/** Text of a content member: a string, or a list of parts of which the text parts count. */
const contentText = (content: unknown): string => {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => (isJsonObject(part) && part['type'] === 'text' ? textOf(part['text']) : '')).join('');
};

/** Entries of `tool_calls`, or the one call of the older `function_call` member. */
const toolCallEntries = (delta: JsonObject): readonly unknown[] => {
  const calls = delta['tool_calls'];
  if (Array.isArray(calls)) return calls as unknown[];
  const call = delta['function_call'];
  return isJsonObject(call) ? [{ index: 0, function: call }] : NO_ENTRIES;
};

/**
 * Reads the events of one streamed chat completion and emits model chunks, synchronously and in arrival order. Throws as soon as the
 * stream cannot end well. Nothing counts as an answer before `complete` has returned.
 */
export class CompletionReader {
  readonly #emit: (chunk: ModelChunk) => void;
  readonly #failures: ProviderFailures;
  readonly #toolCalls: ToolCallTracker;
  #blocks = 0;
  #textBlock: number | undefined;
  #reasoningBlock: number | undefined;
  #reasoningField: ReasoningField = 'reasoning_content';
  #textChars = 0;
  #reasoningChars = 0;
  #usage: Usage | undefined;
  #finish: FinishReason['kind'] | undefined;
  #done = false;
  #streamId = '';
  #streamModel = '';

  constructor(emit: (chunk: ModelChunk) => void, failures: ProviderFailures) {
    this.#emit = emit;
    this.#failures = failures;
    this.#toolCalls = new ToolCallTracker(emit, () => this.#blocks++, failures);
  }

  /** True after the `[DONE]` marker; nothing that follows it is read. */
  get done(): boolean {
    return this.#done;
  }

  acceptEvent(data: string, event: string | undefined): void {
    if (this.#done || data === '') return;
    if (data === '[DONE]') {
      this.#done = true;
      return;
    }
    const chunk = this.#parse(data);
    const error = findInBandError(chunk);
    if (error !== undefined) throw this.#failures.inBand(error);
    if (event === 'error') throw this.#failures.inBand(chunk);
    this.#acceptChunk(chunk);
  }

  /** Emits the last usage the server reported, also of a call that failed; safe to repeat. */
  flushUsage(): void {
    if (this.#usage !== undefined) this.#emit({ type: 'usage', usage: this.#usage });
    this.#usage = undefined;
  }

  /** Call after a normal end of the stream. Emits usage and the finish chunk; throws when no finish reason had come. */
  complete(): void {
    if (this.#finish === undefined) throw this.#failures.cut('ended its answer without a finish reason');
    this.flushUsage();
    const kind = this.#finish === 'stop' && this.#toolCalls.count > 0 ? 'tool-calls' : this.#finish;
    this.#emit({ type: 'finish', reason: { kind } });
  }

  #parse(data: string): JsonObject {
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      throw this.#failures.protocol('sent an event that is not JSON', data);
    }
    if (!isJsonObject(value)) throw this.#failures.protocol('sent an event that is not a JSON object', data);
    return value;
  }

  #acceptChunk(chunk: JsonObject): void {
    this.#usage = readUsage(chunk['usage']) ?? this.#usage;
    const choices = chunk['choices'];
    if (!Array.isArray(choices)) return;
    for (const choice of choices as unknown[]) {
      if (!isJsonObject(choice) || (choice['index'] ?? 0) !== 0) continue;
      this.#acceptChoice(chunk, choice);
    }
  }

  #acceptChoice(chunk: JsonObject, choice: JsonObject): void {
    const error = findInBandError(choice);
    if (error !== undefined) throw this.#failures.inBand(error);
    this.#usage = readUsage(choice['usage']) ?? this.#usage;
    const delta = choice['delta'];
    if (isJsonObject(delta)) this.#acceptDelta(chunk, delta);
    const reason = choice['finish_reason'];
    if (reason !== undefined && reason !== null && reason !== '') this.#acceptFinish(reason);
  }

  #acceptDelta(chunk: JsonObject, delta: JsonObject): void {
    const reasoning = this.#reasoningText(delta);
    const text = contentText(delta['content']);
    const calls = toolCallEntries(delta);
    if (reasoning === '' && text === '' && calls.length === 0) return;
    this.#requireSameAnswer(chunk);
    if (reasoning !== '') this.#acceptReasoning(reasoning);
    if (text !== '') this.#acceptText(text);
    if (calls.length > 0) this.#toolCalls.accept(calls, this.#finish !== undefined);
  }

  /** Some servers fill both fields with the same text; the field seen first is the one that counts. */
  #reasoningText(delta: JsonObject): string {
    const known = textOf(delta[this.#reasoningField]);
    if (known !== '') return known;
    const other = otherField(this.#reasoningField);
    const text = textOf(delta[other]);
    if (text !== '' && this.#reasoningBlock === undefined) this.#reasoningField = other;
    return text;
  }

  #acceptReasoning(text: string): void {
    this.#reasoningChars = this.#bounded(this.#reasoningChars + text.length);
    if (this.#reasoningBlock === undefined) {
      this.#reasoningBlock = this.#blocks++;
      this.#emit({ type: 'block-start', index: this.#reasoningBlock, blockType: 'reasoning', field: this.#reasoningField });
    }
    this.#emit({ type: 'reasoning-delta', index: this.#reasoningBlock, text });
  }

  #acceptText(text: string): void {
    this.#textChars = this.#bounded(this.#textChars + text.length);
    if (this.#textBlock === undefined) {
      this.#textBlock = this.#blocks++;
      this.#emit({ type: 'block-start', index: this.#textBlock, blockType: 'text' });
    }
    this.#emit({ type: 'text-delta', index: this.#textBlock, text });
  }

  #bounded(chars: number): number {
    if (chars > ANSWER_CHARS_MAX) throw this.#failures.protocol(`sent an answer of more than ${ANSWER_CHARS_MAX} characters`);
    return chars;
  }

  #acceptFinish(reason: unknown): void {
    const word = textOf(reason);
    const kind = Object.hasOwn(FINISH_REASONS, word) ? FINISH_REASONS[word] : undefined;
    if (kind === undefined) throw this.#failures.finishReason(word || typeof reason);
    if (this.#finish === undefined || GRAVITY[kind] > GRAVITY[this.#finish]) this.#finish = kind;
  }

  /** A proxy that falls back to another model in mid-answer glues two answers together; neither is whole. */
  #requireSameAnswer(chunk: JsonObject): void {
    const id = textOf(chunk['id']);
    const model = textOf(chunk['model']);
    if (id !== '' && id !== this.#streamId) this.#streamId = this.#firstOnly(this.#streamId, id, 'id');
    if (model !== '' && model !== this.#streamModel) this.#streamModel = this.#firstOnly(this.#streamModel, model, 'model');
  }

  #firstOnly(known: string, next: string, member: string): string {
    if (known !== '') throw this.#failures.protocol(`changed the ${member} in the middle of its answer`);
    return next;
  }
}
