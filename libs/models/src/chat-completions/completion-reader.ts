import type { FinishReason, ModelChunk, ReasoningField, Usage } from '#contracts';
import { describeModel } from '../catalog.ts';
import { TextFormReader } from '../text-forms/text-form-reader.ts';
import type { TextPiece } from '../text-forms/text-forms.ts';
import { BlockWriter } from '../wire/block-writer.ts';
import { findInBandError, type ProviderFailures } from '../wire/errors.ts';
import { isJsonObject, parseEvent, textOf, type JsonObject } from '../wire/json-members.ts';
import type { ReaderOptions, StreamReader } from '../wire/stream-reader.ts';
import { ToolCallTracker } from './tool-call-tracker.ts';
import { readUsage } from './usage.ts';

const FINISH_REASONS: Readonly<Record<string, FinishReason['kind']>> = {
  stop: 'stop',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  length: 'max-tokens',
  content_filter: 'content-filter',
};

/** When a server names several reasons the gravest counts: a late filter verdict is not undone by an earlier stop. */
const GRAVITY: Readonly<Record<FinishReason['kind'], number>> = { stop: 0, 'tool-calls': 1, 'max-tokens': 2, 'content-filter': 3 };

type WrittenCall = Extract<TextPiece, { kind: 'call' }>;

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

/** Reads one streamed chat completion: it is whole with a good finish reason and the end of the stream, or `[DONE]`. */
export class CompletionReader implements StreamReader {
  readonly #emit: (chunk: ModelChunk) => void;
  readonly #failures: ProviderFailures;
  readonly #writer: BlockWriter;
  readonly #toolCalls: ToolCallTracker;
  /** Set for a model that is known to write calls or reasoning into its text. */
  readonly #forms: TextFormReader | undefined;
  readonly #writtenCalls: WrittenCall[] = [];
  #textBlock: number | undefined;
  #reasoningBlock: number | undefined;
  #reasoningField: ReasoningField = 'reasoning_content';
  #usage: Usage | undefined;
  #finish: FinishReason['kind'] | undefined;
  #refused = false;
  #done = false;
  #streamId = '';
  #streamModel = '';

  constructor({ emit, failures, maxOutputTokens, model, tools }: ReaderOptions) {
    const { textForms } = describeModel(model).quirks;
    if (textForms.length > 0) this.#forms = new TextFormReader(textForms, tools);
    this.#emit = emit;
    this.#failures = failures;
    this.#writer = new BlockWriter(emit, failures, maxOutputTokens);
    this.#toolCalls = new ToolCallTracker(this.#writer, failures);
  }

  get done(): boolean {
    return this.#done;
  }

  acceptEvent(data: string, event: string | undefined): boolean {
    if (this.#done || data === '') return false;
    if (data === '[DONE]') return (this.#done = true);
    const chunk = parseEvent(data, this.#failures);
    const error = findInBandError(chunk);
    if (error !== undefined) throw this.#failures.inBand(error);
    if (event === 'error') throw this.#failures.inBand(chunk);
    return this.#acceptChunk(chunk);
  }

  flushUsage(): void {
    if (this.#usage !== undefined) this.#emit({ type: 'usage', usage: this.#usage });
    this.#usage = undefined;
  }

  complete(): void {
    if (this.#finish === undefined) throw this.#failures.cut('ended its answer without a finish reason');
    this.#acceptWrittenCalls();
    this.flushUsage();
    const kind = this.#refused ? 'content-filter' : this.#finish === 'stop' && this.#toolCalls.count > 0 ? 'tool-calls' : this.#finish;
    this.#emit({ type: 'finish', reason: { kind } });
  }

  #acceptChunk(chunk: JsonObject): boolean {
    const usage = readUsage(chunk['usage']);
    this.#usage = usage ?? this.#usage;
    const choices = chunk['choices'];
    let carried = usage !== undefined;
    if (!Array.isArray(choices)) return carried;
    for (const choice of choices as unknown[]) {
      if (!isJsonObject(choice) || (choice['index'] ?? 0) !== 0) continue;
      carried = this.#acceptChoice(chunk, choice) || carried;
    }
    return carried;
  }

  #acceptChoice(chunk: JsonObject, choice: JsonObject): boolean {
    const error = findInBandError(choice);
    if (error !== undefined) throw this.#failures.inBand(error);
    this.#usage = readUsage(choice['usage']) ?? this.#usage;
    const delta = choice['delta'];
    const carried = isJsonObject(delta) && this.#acceptDelta(chunk, delta);
    const reason = choice['finish_reason'];
    if (reason === undefined || reason === null || reason === '') return carried;
    this.#acceptFinish(reason);
    return true;
  }

  #acceptDelta(chunk: JsonObject, delta: JsonObject): boolean {
    const reasoning = this.#reasoningText(delta);
    const text = contentText(delta['content']);
    const calls = toolCallEntries(delta);
    this.#refused ||= textOf(delta['refusal']).trim() !== '';
    if (reasoning === '' && text === '' && calls.length === 0) return false;
    this.#requireSameAnswer(chunk);
    if (reasoning !== '') this.#acceptReasoning(reasoning);
    if (text !== '') this.#acceptText(text);
    if (calls.length > 0) this.#toolCalls.accept(calls, this.#finish !== undefined);
    return true;
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
    this.#reasoningBlock ??= this.#writer.open('reasoning', this.#reasoningField);
    this.#writer.reasoning(this.#reasoningBlock, text);
  }

  #acceptText(text: string): void {
    if (this.#forms === undefined) this.#writeText(text);
    else this.#acceptPieces(this.#forms.push(text));
  }

  #acceptPieces(pieces: readonly TextPiece[]): void {
    for (const piece of pieces) {
      if (piece.kind === 'text') this.#writeText(piece.text);
      else if (piece.kind === 'reasoning') this.#acceptReasoning(piece.text);
      else this.#writtenCalls.push(piece);
    }
  }

  /** Calls that were written as text count only in an answer that has no others: some servers send the same call both ways. */
  #acceptWrittenCalls(): void {
    this.#acceptPieces(this.#forms?.end() ?? []);
    if (this.#toolCalls.count > 0 || this.#writtenCalls.length === 0) return;
    this.#toolCalls.accept(this.#writtenCalls.map(({ id, name, arguments: args }, index) => ({ index, id, function: { name, arguments: args } })), false);
  }

  #writeText(text: string): void {
    this.#textBlock ??= this.#writer.open('text');
    this.#writer.text(this.#textBlock, text);
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
