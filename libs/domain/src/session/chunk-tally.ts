import type { ModelChunk } from '#contracts';

const FNV_PRIME = 0x01000193;
const SEEDS = [0x811c9dc5, 0x9747b28c] as const;

/**
 * A count and a checksum of timed chunks that does not depend on the order of attempts: two sets of chunks with the same tally are, but for
 * one chance in 2^64, the same. It finds a migration that lost, doubled or changed one; it is no proof against forgery.
 */
export class ChunkTally {
  count = 0;
  #low = 0;
  #high = 0;

  add(turn: number, step: number, time: number, chunk: ModelChunk): void {
    const text = `${turn} ${step} ${time} ${wordsOf(chunk)}`;
    this.count++;
    this.#low = (this.#low + hashOf(text, SEEDS[0])) >>> 0;
    this.#high = (this.#high + hashOf(text, SEEDS[1])) >>> 0;
  }

  toString(): string {
    return `${this.count} ${this.#low.toString(16)} ${this.#high.toString(16)}`;
  }
}

/** One spelling of a chunk, whatever order its members had in a file. */
function wordsOf(chunk: ModelChunk): string {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return `${chunk.type} ${chunk.index} ${chunk.text}`;
    case 'tool-call-delta':
      return `${chunk.type} ${chunk.index} ${JSON.stringify([chunk.id, chunk.name ?? null])} ${chunk.argumentsDelta}`;
    case 'block-start':
    case 'block-end':
    case 'usage':
    case 'finish':
      return JSON.stringify(chunk);
  }
}

function hashOf(text: string, seed: number): number {
  let hash = seed;
  for (let position = 0; position < text.length; position++) hash = Math.imul(hash ^ text.charCodeAt(position), FNV_PRIME);
  return hash >>> 0;
}
