import { TOOL_CALLS_PER_TURN_MAX, type FinishReason, type ModelChunk, type Usage } from '#contracts';
import { count } from '../chat-completions/usage.ts';
import { BlockWriter } from '../wire/block-writer.ts';
import { findInBandError, type ProviderFailures } from '../wire/errors.ts';
import { isJsonObject, parseEvent, textOf, type JsonObject } from '../wire/json-members.ts';
import type { ReaderOptions, StreamReader } from '../wire/stream-reader.ts';
import type { ResponsesReplay } from './request-body.ts';

/** One output item. Its place in the output is its identity: ids change between versions of an item. */
interface OutputItem {
  type: string;
  index: number | undefined;
  callId: string;
  name: string;
  /** Text or arguments so far. */
  content: string;
  done: boolean;
}

const INCOMPLETE: Readonly<Record<string, FinishReason['kind']>> = { max_output_tokens: 'max-tokens', content_filter: 'content-filter' };
const BLOCK_TYPES = { message: 'text', reasoning: 'reasoning', function_call: 'tool-call' } as const;

const readUsage = (value: unknown): Usage | undefined => {
  if (!isJsonObject(value)) return undefined;
  const inputTokens = count(value['input_tokens']);
  const outputTokens = count(value['output_tokens']);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const detail = (group: string, key: string): number | undefined => (isJsonObject(value[group]) ? count(value[group][key]) : undefined);
  const cacheReadTokens = detail('input_tokens_details', 'cached_tokens');
  const reasoningTokens = detail('output_tokens_details', 'reasoning_tokens');
  return { inputTokens, outputTokens, ...(cacheReadTokens !== undefined && { cacheReadTokens }), ...(reasoningTokens !== undefined && { reasoningTokens }) };
};

const textParts = (parts: unknown): string => (Array.isArray(parts) ? parts.map((part: unknown) => (isJsonObject(part) ? textOf(part['text']) : '')).join('') : '');

/**
 * Reads one answer of the Responses protocol: it is whole with `response.completed` (or `response.incomplete`) after `response.created`
 * and, for each item, that item's own end. Arguments that were never declared done are no call.
 */
export class ResponsesReader implements StreamReader {
  readonly #emit: (chunk: ModelChunk) => void;
  readonly #failures: ProviderFailures;
  readonly #writer: BlockWriter;
  readonly #items = new Map<number, OutputItem>();
  readonly #reasoning: object[] = [];
  #created = false;
  #refused = false;
  #calls = 0;
  #usage: Usage | undefined;
  #finish: FinishReason['kind'] | undefined;

  constructor({ emit, failures, maxOutputTokens }: ReaderOptions) {
    this.#emit = emit;
    this.#failures = failures;
    this.#writer = new BlockWriter(emit, failures, maxOutputTokens);
  }

  get done(): boolean {
    return this.#finish !== undefined;
  }

  acceptEvent(data: string, event: string | undefined): boolean {
    if (this.done || data === '' || data === '[DONE]') return false;
    const payload = parseEvent(data, this.#failures);
    const type = textOf(payload['type']) || (event ?? '');
    const error = findInBandError(payload);
    if (error !== undefined || event === 'error' || type === 'error') throw this.#failures.inBand(error ?? payload);
    return type.startsWith('response.') && this.#accept(type.slice('response.'.length), payload);
  }

  flushUsage(): void {
    if (this.#usage !== undefined) this.#emit({ type: 'usage', usage: this.#usage });
    this.#usage = undefined;
  }

  complete(): void {
    if (this.#finish === undefined) throw this.#failures.cut('ended its answer without response.completed');
    this.flushUsage();
    const kind = this.#refused ? 'content-filter' : this.#finish;
    const replayState: ResponsesReplay | undefined = this.#reasoning.length === 0 ? undefined : { reasoning: this.#reasoning };
    this.#emit({ type: 'finish', reason: { kind }, ...(replayState && { replayState }) });
  }

  #accept(type: string, payload: JsonObject): boolean {
    switch (type) {
      case 'created':
        if (this.#created) throw this.#failures.protocol('began a second answer in the middle of one');
        return (this.#created = true);
      case 'output_item.added':
        this.#open(payload);
        return true;
      case 'output_text.delta':
        return this.#grow(this.#itemAt(payload, 'message'), textOf(payload['delta']));
      case 'reasoning_summary_text.delta':
      case 'reasoning_text.delta':
        return this.#grow(this.#itemAt(payload, 'reasoning'), textOf(payload['delta']));
      case 'function_call_arguments.delta':
        return this.#grow(this.#itemAt(payload, 'function_call'), textOf(payload['delta']));
      case 'function_call_arguments.done':
        return this.#settle(this.#itemAt(payload, 'function_call'), payload['arguments']);
      case 'refusal.delta':
        return (this.#refused = true);
      case 'output_item.done':
        return this.#close(payload);
      case 'completed':
      case 'incomplete':
      case 'failed':
      case 'cancelled':
        return this.#end(type, payload['response']);
      default:
        // progress of the vendor's own tools, and events that are new to this protocol, carry nothing of the answer
        return false;
    }
  }

  #open(payload: JsonObject): OutputItem {
    const position = payload['output_index'];
    const added = payload['item'];
    if (!this.#created || !Number.isSafeInteger(position) || !isJsonObject(added)) throw this.#failures.protocol('began an item that is none');
    if (this.#items.has(position as number)) throw this.#failures.protocol('used the place of an item twice');
    const type = textOf(added['type']);
    const blockType = Object.hasOwn(BLOCK_TYPES, type) ? BLOCK_TYPES[type as keyof typeof BLOCK_TYPES] : undefined;
    const index = blockType && this.#writer.open(blockType);
    const item: OutputItem = { type, index, callId: textOf(added['call_id']), name: textOf(added['name']), content: '', done: false };
    this.#items.set(position as number, item);
    if (type === 'function_call') this.#openCall(item);
    return item;
  }

  #openCall(item: OutputItem): void {
    if (++this.#calls > TOOL_CALLS_PER_TURN_MAX) throw this.#failures.protocol(`asked for more than ${TOOL_CALLS_PER_TURN_MAX} tool calls at once`);
    this.#writer.call(item.index!, item.callId, item.name, '');
  }

  #itemAt(payload: JsonObject, type: string): OutputItem {
    const item = this.#items.get(payload['output_index'] as number);
    if (item === undefined || item.done || item.type !== type) throw this.#failures.protocol(`went on with a ${type} item that is not open`);
    return item;
  }

  #grow(item: OutputItem, text: string): boolean {
    if (text === '') return false;
    item.content += text;
    if (item.type === 'message') this.#writer.text(item.index!, text);
    else if (item.type === 'reasoning') this.#writer.reasoning(item.index!, text);
    else this.#writer.call(item.index!, item.callId, item.name, text);
    return true;
  }

  /** Takes the whole text of an item that ends: it may be the first that comes of it, and may not differ from what came. */
  #settle(item: OutputItem, whole: unknown): boolean {
    const text = textOf(whole);
    if (text === '' || text === item.content) return true;
    if (item.content !== '') throw this.#failures.protocol(`ended a ${item.type} item with another content than it had sent`);
    return this.#grow(item, text);
  }

  #close(payload: JsonObject): boolean {
    const final = payload['item'];
    const item = this.#items.get(payload['output_index'] as number) ?? this.#open(payload);
    if (!isJsonObject(final) || final['type'] !== item.type) throw this.#failures.protocol('ended an item that is none');
    if (item.done) throw this.#failures.protocol('ended an item twice');
    if (item.type === 'function_call') this.#closeCall(item, final);
    if (item.type === 'message') this.#settle(item, textParts(final['content']));
    if (item.type === 'reasoning') this.#closeReasoning(final);
    item.done = true;
    return true;
  }

  #closeCall(item: OutputItem, final: JsonObject): void {
    if (textOf(final['call_id']) !== item.callId || textOf(final['name']) !== item.name) throw this.#failures.protocol('ended a tool call as another one');
    this.#settle(item, final['arguments']);
  }

  /** Only encrypted reasoning can go back: the vendor keeps none under its id. */
  #closeReasoning(final: JsonObject): void {
    if (textOf(final['encrypted_content']) === '') return;
    this.#reasoning.push({ type: 'reasoning', id: final['id'], summary: final['summary'] ?? [], encrypted_content: final['encrypted_content'] });
  }

  #end(type: string, response: unknown): boolean {
    if (!this.#created) throw this.#failures.protocol('ended an answer that had not begun');
    const body: JsonObject = isJsonObject(response) ? response : {};
    this.#usage = readUsage(body['usage']) ?? this.#usage;
    if (type === 'failed' || type === 'cancelled') throw this.#failures.inBand(body['error'] ?? { message: `the response was ${type}` });
    this.#finish = type === 'incomplete' ? this.#incompleteKind(body) : this.#completedKind(body);
    return true;
  }

  #incompleteKind(body: JsonObject): FinishReason['kind'] {
    const details = body['incomplete_details'];
    const reason = isJsonObject(details) ? textOf(details['reason']) : '';
    const kind = Object.hasOwn(INCOMPLETE, reason) ? INCOMPLETE[reason] : undefined;
    if (kind === undefined) throw this.#failures.finishReason(reason || 'incomplete');
    return kind;
  }

  #completedKind(body: JsonObject): FinishReason['kind'] {
    if ([...this.#items.values()].some((item) => !item.done)) throw this.#failures.cut('ended its answer inside an item');
    const output = Array.isArray(body['output']) ? (body['output'] as unknown[]) : [];
    const known = new Set([...this.#items.values()].map((item) => item.callId));
    const strange = output.some((item) => isJsonObject(item) && item['type'] === 'function_call' && !known.has(textOf(item['call_id'])));
    if (strange) throw this.#failures.protocol('named a tool call in its end that it had not sent');
    return this.#calls > 0 ? 'tool-calls' : 'stop';
  }
}
