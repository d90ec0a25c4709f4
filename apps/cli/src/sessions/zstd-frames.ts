const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const DICTIONARY_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const CHECKSUM_BYTES = 4;
const BLOCK_HEADER_BYTES = 3;
const BLOCK_RLE = 1;

type Part = 'magic' | 'descriptor' | 'skippable size' | 'block header' | 'last of frame' | 'within frame';

/**
 * Cuts compressed bytes where a Zstandard frame ends (RFC 8878). Node's decompressor goes on with the next frame only when it comes in a write of
 * its own: what follows a frame in the same write is dropped without an error. Bytes that are no frame pass uncut, for the decompressor to refuse.
 */
export async function* cutAtFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const walker = new FrameWalker();
  for await (const chunk of source) {
    let start = 0;
    for (const end of walker.endsIn(chunk)) {
      yield chunk.subarray(start, end);
      start = end;
    }
    if (start < chunk.length) yield chunk.subarray(start);
  }
}

/** Follows the frames of a stream from part to part, whatever pieces it comes in. */
class FrameWalker {
  #part: Part = 'magic';
  /** Bytes of the current part that are still to come; a part that is looked at is at most 4 bytes long. */
  #left = 4;
  #value = 0;
  #read = 0;
  #hasChecksum = false;
  #isLastBlock = false;

  /** Positions in this chunk at which a frame is over. */
  endsIn(chunk: Buffer): number[] {
    const ends: number[] = [];
    for (let at = 0; at < chunk.length; ) {
      const taken = Math.min(this.#left, chunk.length - at);
      if (this.#part !== 'last of frame' && this.#part !== 'within frame') for (let byte = 0; byte < taken; byte++) this.#value += (chunk[at + byte] ?? 0) * 2 ** (8 * this.#read++);
      this.#left -= taken;
      at += taken;
      while (this.#left === 0) if (this.#advance()) ends.push(at);
    }
    return ends;
  }

  /** Goes to the next part; true when a frame is over. */
  #advance(): boolean {
    const [part, value] = [this.#part, this.#value];
    switch (part) {
      case 'magic':
        if ((value & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) this.#expect('skippable size', 4);
        else this.#expect(value === MAGIC ? 'descriptor' : 'within frame', value === MAGIC ? 1 : Infinity);
        return false;
      case 'skippable size':
        this.#isLastBlock = true;
        this.#hasChecksum = false;
        this.#expect('last of frame', value);
        return false;
      case 'descriptor':
        this.#beginFrame(value);
        return false;
      case 'within frame':
        this.#expect('block header', BLOCK_HEADER_BYTES);
        return false;
      case 'block header':
        this.#beginBlock(value);
        return false;
      case 'last of frame':
        this.#expect('magic', 4);
        return true;
    }
  }

  #beginFrame(descriptor: number): void {
    const isSingleSegment = (descriptor & 0x20) !== 0;
    this.#hasChecksum = (descriptor & 0x04) !== 0;
    const contentSizeBytes = descriptor >> 6 === 0 && isSingleSegment ? 1 : (CONTENT_SIZE_BYTES[descriptor >> 6] ?? 0);
    this.#expect('within frame', (isSingleSegment ? 0 : 1) + (DICTIONARY_BYTES[descriptor & 3] ?? 0) + contentSizeBytes);
  }

  #beginBlock(header: number): void {
    this.#isLastBlock = (header & 1) === 1;
    const bytes = ((header >> 1) & 3) === BLOCK_RLE ? 1 : header >>> 3;
    if (this.#isLastBlock) this.#expect('last of frame', bytes + (this.#hasChecksum ? CHECKSUM_BYTES : 0));
    else this.#expect('within frame', bytes);
  }

  #expect(part: Part, bytes: number): void {
    this.#part = part;
    this.#left = bytes;
    this.#value = 0;
    this.#read = 0;
  }
}
