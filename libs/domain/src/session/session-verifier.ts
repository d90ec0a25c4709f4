import { QuaestorError, type TimedChunk } from '#contracts';
import { BlockAssembler } from '../stream/assemble.ts';
import { expandAssistantStream } from '../stream/expand.ts';
import { ChunkTally } from './chunk-tally.ts';
import { identifiedBlocks } from './identified-blocks.ts';
import { SessionCompactions } from './session-compactions.ts';
import { SessionFrame } from './session-frame.ts';
import { SessionRetries } from './session-retries.ts';
import { parseSessionRow } from './session-rows.ts';
import { SessionSurface } from './session-surface.ts';
import { SessionTools } from './session-tools.ts';
import { isObject, refuseSession, type SessionData, type SessionEvent, type SessionHeader } from './session-types.ts';

export interface VerifiedSession {
  events: number;
  messages: number;
  attempts: number;
  /** `ChunkTally` of every stream, expanded again. */
  chunks: string;
}

/**
 * Holds a version 2 artifact against everything that can be said of it, row by row: the closed vocabulary, dense numbers, turns and steps,
 * the surface, tool calls, retries and compactions, the end of what was inherited, and that each stream gives the very message it stands with. Knows nothing of how the artifact
 * was made. Throws `SESSION_INVALID`.
 */
export class SessionVerifier {
  readonly #header: SessionHeader;
  readonly #frame = new SessionFrame();
  readonly #tally = new ChunkTally();
  readonly #surface = new SessionSurface();
  readonly #tools = new SessionTools();
  readonly #retries = new SessionRetries();
  readonly #compactions = new SessionCompactions(this.#surface);
  #events = 0;
  #messages = 0;
  #attempts = 0;
  #isInherited = false;

  constructor(header: SessionHeader) {
    this.#header = header;
  }

  push(value: unknown): void {
    const event = parseSessionRow(value, this.#events++, 2, true);
    const { turn } = this.#frame;
    this.#frame.push(event);
    this.#surface.push(event);
    this.#tools.push(event);
    this.#retries.push(event);
    this.#compactions.push(event, turn);
    switch (event.type) {
      case 'assistant/message':
        this.#messages++;
        if (event.sourceEventSeqs) refuseSession(event.seq + 2, 'is an answer that still cites chunks');
        return this.#checkMessage(event, this.#expand(event));
      case 'assistant/attempt':
        this.#attempts++;
        return void this.#expand(event);
      case 'session/end-seed':
        return this.#checkSeed(event);
      default:
    }
  }

  finish(): VerifiedSession {
    this.#compactions.finish();
    if (this.#header.isSeeded && !this.#isInherited) refuseSession(1, 'says that events were inherited, but nothing marks where they end');
    return { events: this.#events, messages: this.#messages, attempts: this.#attempts, chunks: this.#tally.toString() };
  }

  #expand({ seq, data }: SessionEvent): readonly TimedChunk[] {
    const { stream, turn, step } = data;
    if (!Array.isArray(stream)) return refuseSession(seq + 2, 'has a stream that is not a list');
    try {
      const chunks = expandAssistantStream(stream);
      for (const { time, chunk } of chunks) this.#tally.add(turn as number, step as number, time, chunk);
      return chunks;
    } catch (error) {
      return refuseSession(seq + 2, `has a stream that cannot be read: ${error instanceof QuaestorError ? error.message : 'it is broken'}`);
    }
  }

  /** An empty stream is that of a message from before streams were kept. */
  #checkMessage({ seq, data }: SessionEvent, chunks: readonly TimedChunk[]): void {
    const { message, usage } = data;
    if (!isObject(message)) return refuseSession(seq + 2, 'has a message that is not an object');
    if (chunks.length === 0) return;
    const assembler = new BlockAssembler();
    for (const { chunk } of chunks) assembler.push(chunk);
    const blocks = data['interrupted'] === true ? assembler.interruptedBlocks() : assembler.blocks();
    if (!isSame(contentOf(message), identifiedBlocks(blocks))) refuseSession(seq + 2, 'has a stream that gives another content than its message');
    if (!isSame(usage, assembler.usage)) refuseSession(seq + 2, 'has a stream that gives another usage than its message');
    const source = isObject(message['source']) ? message['source'] : {};
    if (data['interrupted'] !== true && !isSame(source['replayState'], assembler.replayState())) refuseSession(seq + 2, 'has a stream that gives another replay state than its message');
  }

  #checkSeed({ seq, data }: SessionEvent): void {
    if (!Object.hasOwn(data, 'inherited')) return;
    if (data['inherited'] !== true) refuseSession(seq + 2, 'marks the end of inherited events with something other than true');
    if (!this.#header.isSeeded) refuseSession(seq + 2, 'marks the end of inherited events in a session that inherited none');
    this.#isInherited = true;
  }
}

const contentOf = (message: SessionData): unknown => (typeof message['content'] === 'string' ? [{ type: 'text', text: message['content'] }] : message['content']);

const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined).sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, member]) => [key, sorted(member)]));
}
