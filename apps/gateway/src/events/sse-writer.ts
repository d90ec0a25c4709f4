import { SSE_BUFFER_BYTES_MAX } from '#contracts';
import type { ServerResponse } from 'node:http';

export interface SseWriterOptions {
  /** Bytes that may wait for a reader before it gets nothing more. Default an eighth of `SSE_BUFFER_BYTES_MAX`. */
  bufferBytesMax?: number;
  /** Milliseconds a reader may leave bytes waiting before it is dropped. Default 30,000. */
  stallTimeoutMs?: number;
}

/** Leaves room for one event of the largest size above the mark. */
const BUFFER_BYTES_MAX = SSE_BUFFER_BYTES_MAX / 8;
const STALL_TIMEOUT_MS = 30_000;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  // the connection ends with the stream, so that a stopping process waits for nobody
  connection: 'close',
  'x-content-type-options': 'nosniff',
};

/**
 * One event stream on a raw response, with a bound: a reader that does not read is not written to (`isBlocked`), and after half a minute
 * its connection is reset. It comes back with the id it has, and misses nothing.
 */
export class SseWriter {
  readonly #response: ServerResponse;
  readonly #bufferBytesMax: number;
  readonly #stallTimeoutMs: number;
  #stallTimer: NodeJS.Timeout | undefined;
  /** Told when a blocked reader has read everything. */
  onDrain: () => void = () => undefined;
  /** Told once, however the stream ended. */
  onClose: () => void = () => undefined;

  constructor(response: ServerResponse, options: SseWriterOptions = {}) {
    this.#response = response;
    this.#bufferBytesMax = options.bufferBytesMax ?? BUFFER_BYTES_MAX;
    this.#stallTimeoutMs = options.stallTimeoutMs ?? STALL_TIMEOUT_MS;
    response.on('drain', () => this.#drained());
    response.once('close', () => {
      clearTimeout(this.#stallTimer);
      this.onClose();
    });
    // a reset connection is an ordinary end of a stream
    response.on('error', () => undefined);
  }

  open(headers: Record<string, string>, firstFrame: string): void {
    this.#response.writeHead(200, { ...HEADERS, ...headers });
    this.write(firstFrame);
  }

  /** Bytes that wait for the reader in this process. */
  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  /** True while the reader is behind: what is written now is kept for it, so write nothing that can be read again later. */
  get isBlocked(): boolean {
    return this.#response.writableLength > this.#bufferBytesMax;
  }

  /** True from the moment the connection is gone, also when that was before anybody listened. */
  get isClosed(): boolean {
    return this.#response.writableEnded || this.#response.destroyed || this.#response.closed;
  }

  write(frame: string | Uint8Array): void {
    if (this.isClosed) return;
    if (!this.#response.write(frame)) this.#stallTimer ??= setTimeout(() => this.#response.destroy(), this.#stallTimeoutMs);
  }

  /** Ends the stream after what was written. */
  end(lastFrame?: string): void {
    if (!this.isClosed) this.#response.end(lastFrame);
  }

  #drained(): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = undefined;
    this.onDrain();
  }
}
