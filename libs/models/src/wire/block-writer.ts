import type { BlockType, ModelChunk, ReasoningField } from '#contracts';
import { RepetitionDetector } from '#domain';
import type { ProviderFailures } from './errors.ts';

/** Longest block of one answer in characters, whatever bound in tokens was asked for. */
const BLOCK_CHARS_MAX = 4 * 1024 * 1024;
/** A server that minds the bound of tokens does not come near this many characters for each of them. */
const CHARS_PER_TOKEN_MAX = 64;
const BLOCK_CHARS_MIN = 64 * 1024;
/** Longest arguments of one call, in characters. */
const ARGUMENTS_CHARS_MAX = 1024 * 1024;

interface OpenBlock {
  chars: number;
  repetition: RepetitionDetector;
}

/** Numbers the blocks of one answer, bounds them, and emits their chunks. An endless or self-repeating block throws `MODEL_PROTOCOL_ERROR`. */
export class BlockWriter {
  readonly #emit: (chunk: ModelChunk) => void;
  readonly #failures: ProviderFailures;
  readonly #charsMax: number;
  readonly #blocks: OpenBlock[] = [];

  constructor(emit: (chunk: ModelChunk) => void, failures: ProviderFailures, maxOutputTokens: number) {
    this.#emit = emit;
    this.#failures = failures;
    this.#charsMax = Math.min(BLOCK_CHARS_MAX, Math.max(BLOCK_CHARS_MIN, maxOutputTokens * CHARS_PER_TOKEN_MAX));
  }

  /** Starts a block and returns its index. */
  open(blockType: BlockType, field?: ReasoningField): number {
    const index = this.#blocks.push({ chars: 0, repetition: new RepetitionDetector() }) - 1;
    this.#emit({ type: 'block-start', index, blockType, ...(field !== undefined && { field }) });
    return index;
  }

  text(index: number, text: string): void {
    this.#bound(index, text, this.#charsMax, 'an answer');
    this.#emit({ type: 'text-delta', index, text });
  }

  reasoning(index: number, text: string): void {
    this.#bound(index, text, this.#charsMax, 'reasoning');
    this.#emit({ type: 'reasoning-delta', index, text });
  }

  call(index: number, id: string, name: string, argumentsDelta: string): void {
    this.#bound(index, argumentsDelta, ARGUMENTS_CHARS_MAX, 'tool arguments');
    this.#emit({ type: 'tool-call-delta', index, id, ...(name !== '' && { name }), argumentsDelta });
  }

  #bound(index: number, text: string, charsMax: number, what: string): void {
    const block = this.#blocks[index]!;
    block.chars += text.length;
    if (block.chars > charsMax) throw this.#failures.protocol(`sent ${what} of more than ${charsMax} characters`);
    if (block.repetition.push(text)) throw this.#failures.protocol(`repeated itself in ${what} without end`);
  }
}
