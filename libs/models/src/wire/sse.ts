import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceParser } from 'eventsource-parser';

/** Longest event, in characters; a longer one ends the call. */
export const EVENT_CHARS_MAX = 5 * 1024 * 1024;

/** What JSON never holds bare: where one stands, a field name or a line end may have been lost. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

export interface EventStreamSink {
  /** One event that carries data. What it throws comes out of `feed` or `end`. */
  onEvent(data: string, event: string | undefined): void;
  /** An event grew beyond `EVENT_CHARS_MAX`; must throw. */
  onOversize(): never;
  /** A line that is no field of an event: what should have stood there is lost, and with it the answer. Must throw. */
  onStrangeLine(line: string): never;
}

/**
 * Turns the bytes of a response into server-sent events, synchronously: CR, LF and CRLF, split anywhere, also inside a code point.
 * Comments and events without data are skipped.
 */
export class EventStreamReader {
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser: EventSourceParser;
  readonly #sink: EventStreamSink;
  #events = 0;
  #isEnding = false;
  /**
   * A line without its end yet, in the pieces it came in. The parser gets whole lines only: of a line in pieces it would pass over a strange
   * beginning in silence.
   */
  #pending: string[] = [];
  #pendingChars = 0;

  constructor(sink: EventStreamSink) {
    this.#sink = sink;
    this.#parser = createParser({
      maxBufferSize: EVENT_CHARS_MAX,
      onEvent: ({ data, event }) => {
        this.#events++;
        sink.onEvent(data, event);
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') sink.onOversize();
        if (error.type === 'unknown-field' && !this.#isEnding) sink.onStrangeLine(error.line ?? '');
      },
    });
  }

  feed(bytes: Buffer): void {
    this.#feedText(this.#decoder.write(bytes));
  }

  /**
   * Call at the end of the bytes. Gives the last event also when its blank line is missing, which some servers forget. Returns false
   * when the bytes stop inside a line that is no event: the response was cut.
   */
  end(): boolean {
    this.#feedText(this.#decoder.end());
    const eventsBefore = this.#events;
    const wasInLine = this.#pendingChars > 0;
    this.#isEnding = true;
    this.#parser.feed(`${this.#takePending()}\n\n`);
    return !wasInLine || this.#events > eventsBefore;
  }

  #feedText(text: string): void {
    if (CONTROL.test(text)) this.#sink.onStrangeLine(text);
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
    if (end > 0) this.#parser.feed(this.#takePending() + text.slice(0, end));
    if (end === text.length) return;
    this.#pending.push(text.slice(end));
    this.#pendingChars += text.length - end;
    if (this.#pendingChars > EVENT_CHARS_MAX) this.#sink.onOversize();
  }

  #takePending(): string {
    const line = this.#pending.length === 0 ? '' : this.#pending.join('');
    this.#pending = [];
    this.#pendingChars = 0;
    return line;
  }
}
