import { TOOL_CALLS_PER_TURN_MAX, type FinishReason, type ModelChunk } from '#contracts';
import { count } from '../chat-completions/usage.ts';
import { BlockWriter } from '../wire/block-writer.ts';
import { findInBandError, type ProviderFailures } from '../wire/errors.ts';
import { isJsonObject, parseEvent, textOf, type JsonObject } from '../wire/json-members.ts';
import type { ReaderOptions, StreamReader } from '../wire/stream-reader.ts';
import type { MessagesReplay } from './request-body.ts';

const STOP_REASONS: Readonly<Record<string, FinishReason['kind']>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'max-tokens',
  model_context_window_exceeded: 'max-tokens',
  refusal: 'content-filter',
};

interface WireBlock {
  type: string;
  /** Our block; undefined for one that nobody reads, such as redacted thinking. */
  index: number | undefined;
  id: string;
  name: string;
  /** Input that came whole with the start. */
  input: string;
  hasDelta: boolean;
  closed: boolean;
  /** Of a thinking block: what goes back to the vendor. */
  thinking: string;
  signature: string;
  raw: JsonObject;
}

const wholeInput = (value: unknown): string => (isJsonObject(value) && Object.keys(value).length > 0 ? JSON.stringify(value) : '');

/** Reads one answer of the Messages protocol: it is whole with a good stop reason, every block closed, and `message_stop`. */
export class MessagesReader implements StreamReader {
  readonly #emit: (chunk: ModelChunk) => void;
  readonly #failures: ProviderFailures;
  readonly #writer: BlockWriter;
  readonly #blocks = new Map<number, WireBlock>();
  #started = false;
  #calls = 0;
  #stopReason = '';
  #usage: Record<string, unknown> = {};
  #done = false;

  constructor({ emit, failures, maxOutputTokens }: ReaderOptions) {
    this.#emit = emit;
    this.#failures = failures;
    this.#writer = new BlockWriter(emit, failures, maxOutputTokens);
  }

  get done(): boolean {
    return this.#done;
  }

  acceptEvent(data: string, event: string | undefined): boolean {
    if (this.#done || data === '' || data === '[DONE]') return false;
    const payload = parseEvent(data, this.#failures);
    const error = findInBandError(payload);
    if (error !== undefined || event === 'error') throw this.#failures.inBand(error ?? payload);
    return this.#accept(textOf(payload['type']) || (event ?? ''), payload);
  }

  #accept(type: string, payload: JsonObject): boolean {
    switch (type) {
      case 'message_start':
        this.#start(payload['message']);
        return true;
      case 'content_block_start':
        this.#openBlock(payload);
        return true;
      case 'content_block_delta':
        this.#grow(this.#openBlockAt(payload), payload['delta']);
        return true;
      case 'content_block_stop':
        this.#close(this.#openBlockAt(payload));
        return true;
      case 'message_delta':
        this.#acceptEnd(payload);
        return true;
      case 'message_stop':
        return this.#stop();
      default:
        // pings, and events that are new to this protocol, carry nothing of the answer
        return false;
    }
  }

  flushUsage(): void {
    const inputTokens = count(this.#usage['input_tokens']);
    const outputTokens = count(this.#usage['output_tokens']);
    if (inputTokens === undefined || outputTokens === undefined) return;
    const cacheReadTokens = count(this.#usage['cache_read_input_tokens']);
    const written = count(this.#usage['cache_creation_input_tokens']) ?? 0;
    this.#usage = {};
    this.#emit({ type: 'usage', usage: { inputTokens: inputTokens + written + (cacheReadTokens ?? 0), outputTokens, ...(cacheReadTokens !== undefined && { cacheReadTokens }) } });
  }

  complete(): void {
    if (!this.#done) throw this.#failures.cut('ended its answer without message_stop');
    const kind = Object.hasOwn(STOP_REASONS, this.#stopReason) ? STOP_REASONS[this.#stopReason] : undefined;
    if (kind === undefined) throw this.#failures.finishReason(this.#stopReason);
    this.flushUsage();
    const replayState = this.#replay();
    this.#emit({ type: 'finish', reason: { kind: kind === 'stop' && this.#calls > 0 ? 'tool-calls' : kind }, ...(replayState && { replayState }) });
  }

  #start(message: unknown): void {
    if (this.#started) throw this.#failures.protocol('began a second answer in the middle of one');
    this.#started = true;
    if (isJsonObject(message) && isJsonObject(message['usage'])) this.#usage = { ...message['usage'] };
  }

  #openBlock(payload: JsonObject): void {
    const wireIndex = payload['index'];
    const content = payload['content_block'];
    if (!this.#started || !Number.isSafeInteger(wireIndex) || !isJsonObject(content)) throw this.#failures.protocol('began a block that is none');
    if (this.#stopReason !== '') throw this.#failures.protocol('began a block after its stop reason');
    if (this.#blocks.has(wireIndex as number)) throw this.#failures.protocol('used the index of a block twice');
    const type = textOf(content['type']);
    const block: WireBlock = { type, index: this.#indexFor(type), id: textOf(content['id']), name: textOf(content['name']), input: wholeInput(content['input']), hasDelta: false, closed: false, thinking: '', signature: textOf(content['signature']), raw: content };
    this.#blocks.set(wireIndex as number, block);
    if (type === 'tool_use') this.#openCall(block);
    this.#grow(block, { type: `${type}_delta`, text: content['text'], thinking: content['thinking'] });
  }

  #indexFor(type: string): number | undefined {
    if (type === 'text') return this.#writer.open('text');
    if (type === 'thinking') return this.#writer.open('reasoning');
    return type === 'tool_use' ? this.#writer.open('tool-call') : undefined;
  }

  #openCall(block: WireBlock): void {
    if (++this.#calls > TOOL_CALLS_PER_TURN_MAX) throw this.#failures.protocol(`asked for more than ${TOOL_CALLS_PER_TURN_MAX} tool calls at once`);
    this.#writer.call(block.index!, block.id, block.name, '');
  }

  #openBlockAt(payload: JsonObject): WireBlock {
    const block = this.#blocks.get(payload['index'] as number);
    if (block === undefined || block.closed) throw this.#failures.protocol('went on with a block that is not open');
    return block;
  }

  #grow(block: WireBlock, delta: unknown): void {
    if (!isJsonObject(delta) || block.index === undefined) return;
    const type = textOf(delta['type']);
    const text = textOf(delta[type === 'input_json_delta' ? 'partial_json' : type === 'signature_delta' ? 'signature' : type === 'thinking_delta' ? 'thinking' : 'text']);
    if (text === '') return;
    if (type === 'text_delta' && block.type === 'text') this.#writer.text(block.index, text);
    else if (type === 'thinking_delta' && block.type === 'thinking') {
      block.thinking += text;
      this.#writer.reasoning(block.index, text);
    } else if (type === 'signature_delta' && block.type === 'thinking') block.signature += text;
    else if (type === 'input_json_delta' && block.type === 'tool_use') {
      block.hasDelta = true;
      this.#writer.call(block.index, block.id, block.name, text);
    } else throw this.#failures.protocol(`sent a ${type} inside a block of type ${block.type}`);
  }

  #close(block: WireBlock): void {
    block.closed = true;
    if (block.type === 'tool_use' && !block.hasDelta && block.input !== '') this.#writer.call(block.index!, block.id, block.name, block.input);
  }

  #acceptEnd(payload: JsonObject): void {
    const { delta, usage } = payload;
    if (isJsonObject(delta)) this.#stopReason = textOf(delta['stop_reason']) || this.#stopReason;
    if (isJsonObject(usage)) Object.assign(this.#usage, Object.fromEntries(Object.entries(usage).filter(([, value]) => count(value) !== undefined)));
  }

  #stop(): boolean {
    if (this.#stopReason === '') throw this.#failures.cut('ended its answer without a stop reason');
    if ([...this.#blocks.values()].some((block) => !block.closed)) throw this.#failures.cut('ended its answer inside a block');
    return (this.#done = true);
  }

  #replay(): MessagesReplay | undefined {
    const thinking = [...this.#blocks.values()].flatMap((block) => {
      if (block.type === 'redacted_thinking') return [block.raw];
      return block.type === 'thinking' && block.signature !== '' ? [{ type: 'thinking', thinking: block.thinking, signature: block.signature }] : [];
    });
    return thinking.length === 0 ? undefined : { thinking };
  }
}
