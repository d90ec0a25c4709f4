import { EVENT_CHARS_MAX, EventStreamReader } from './sse.ts';
import type { ProviderFailures } from './errors.ts';
import type { StreamReader } from './stream-reader.ts';

/** One streamed answer from its bytes on: framing and protocol together, without a connection. Synchronous; throws what its reader throws. */
export class ModelStream {
  readonly #reader: StreamReader;
  readonly #events: EventStreamReader;
  readonly #failures: ProviderFailures;

  /** `onProgress` is told of every event that carries something. */
  constructor(reader: StreamReader, failures: ProviderFailures, onProgress: () => void) {
    this.#reader = reader;
    this.#failures = failures;
    this.#events = new EventStreamReader({
      onEvent: (data, event) => {
        if (reader.acceptEvent(data, event)) onProgress();
      },
      onOversize: () => {
        throw failures.protocol(`sent an event of more than ${EVENT_CHARS_MAX} characters`);
      },
      onStrangeLine: (line) => {
        throw failures.protocol('sent a line that is no part of an event stream', line);
      },
    });
  }

  /** True when the answer is whole and nothing more needs to be read. */
  get done(): boolean {
    return this.#reader.done;
  }

  feed(bytes: Buffer): void {
    if (!this.#reader.done) this.#events.feed(bytes);
  }

  /** Call at the end of the bytes. Throws when they stop inside a line. */
  end(): void {
    const whole = this.#events.end();
    if (!whole && !this.#reader.done) throw this.#failures.cut('ended its answer in the middle of a line');
  }

  complete(): void {
    this.#reader.complete();
  }

  flushUsage(): void {
    this.#reader.flushUsage();
  }
}
