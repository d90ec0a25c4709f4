import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceParser } from 'eventsource-parser';

/** Longest event, in characters; a longer one ends the call. */
export const EVENT_CHARS_MAX = 5 * 1024 * 1024;

export interface EventStreamSink {
  /** One event that carries data. What it throws comes out of `feed` or `end`. */
  onEvent(data: string, event: string | undefined): void;
  /** An event grew beyond `EVENT_CHARS_MAX`; must throw. */
  onOversize(): never;
}

/**
 * Turns the bytes of a response into server-sent events, synchronously: CR, LF and CRLF, split anywhere, also inside a code point.
 * Comments and events without data are skipped.
 */
export class EventStreamReader {
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser: EventSourceParser;
  #events = 0;
  #endsInLine = false;

  constructor(sink: EventStreamSink) {
    this.#parser = createParser({
      maxBufferSize: EVENT_CHARS_MAX,
      onEvent: ({ data, event }) => {
        this.#events++;
        sink.onEvent(data, event);
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') sink.onOversize();
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
    const wasInLine = this.#endsInLine;
    this.#parser.feed('\n\n');
    return !wasInLine || this.#events > eventsBefore;
  }

  #feedText(text: string): void {
    if (text === '') return;
    const last = text.charCodeAt(text.length - 1);
    this.#endsInLine = last !== 10 && last !== 13;
    this.#parser.feed(text);
  }
}
