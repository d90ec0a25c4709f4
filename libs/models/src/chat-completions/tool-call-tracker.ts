import { TOOL_CALLS_PER_TURN_MAX } from '#contracts';
import type { BlockWriter } from '../wire/block-writer.ts';
import type { ProviderFailures } from '../wire/errors.ts';
import { isJsonObject, textOf, type JsonObject } from '../wire/json-members.ts';

const WIRE_INDEX_MAX = 10_000;
/** Longer arguments are not parsed to find out whether a call without id was followed by another one. */
const COMPLETENESS_CHARS_MAX = 64 * 1024;

/** One fragment of a call as a server sent it, with absent members as empty strings. */
interface Fragment {
  index: number | undefined;
  id: string;
  name: string;
  args: string;
}

interface TrackedCall {
  block: number;
  index: number | undefined;
  id: string;
  name: string;
  args: string;
}

const isCompleteJson = (text: string): boolean => {
  if (text.length > COMPLETENESS_CHARS_MAX || !text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Arguments are text in fragments; some servers send the object itself, or null. */
const argumentsText = (value: unknown): string => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value));

/** An id of blanks, or the word null, is no id. Every other id is kept byte for byte. */
const providerId = (value: unknown): string => {
  const id = textOf(value);
  return id === 'null' || id.trim() === '' ? '' : id;
};

/** A name comes whole, in fragments, or again with every fragment of the arguments. */
const mergeName = (known: string, fragment: string): string => (fragment.startsWith(known) ? fragment : fragment === '' || fragment === known ? known : known + fragment);

/**
 * Puts fragments of tool calls to the calls they belong to, for servers that leave out indexes or ids, or send index 0 for every call.
 * Identity is position, never the provider's id: two calls may share one.
 */
export class ToolCallTracker {
  readonly #calls: TrackedCall[] = [];
  readonly #writer: BlockWriter;
  readonly #failures: ProviderFailures;

  constructor(writer: BlockWriter, failures: ProviderFailures) {
    this.#writer = writer;
    this.#failures = failures;
  }

  get count(): number {
    return this.#calls.length;
  }

  /** Takes the `tool_calls` list of one delta. After a finish reason only repeats of finished calls are accepted, and dropped. */
  accept(entries: readonly unknown[], finished: boolean): void {
    for (const [position, entry] of entries.entries()) {
      if (!isJsonObject(entry)) throw this.#failures.protocol('sent a tool call that is not an object');
      // Entries of one list are different calls, so their places stand in for missing indexes.
      const fragment = this.#read(entry, entries.length > 1 ? position : undefined);
      if (this.#isRepeat(fragment)) continue;
      if (finished) throw this.#failures.protocol('went on with a tool call after its finish reason');
      this.#grow(this.#find(fragment) ?? this.#open(fragment), fragment);
    }
  }

  #read(entry: JsonObject, position: number | undefined): Fragment {
    const index = entry['index'] ?? position;
    if (index !== undefined && !(Number.isInteger(index) && (index as number) >= 0 && (index as number) <= WIRE_INDEX_MAX)) {
      throw this.#failures.protocol('sent a tool call with an impossible index');
    }
    const called = isJsonObject(entry['function']) ? entry['function'] : {};
    return { index: index as number | undefined, id: providerId(entry['id']), name: textOf(called['name']), args: argumentsText(called['arguments']) };
  }

  /** A fragment that says nothing new, or a whole call that came before, id and all. Equal calls without ids are two calls. */
  #isRepeat({ index, id, name, args }: Fragment): boolean {
    if (id === '' && name === '' && args === '') return true;
    const known = this.#candidate(index, id);
    if (known === undefined || (name !== '' && name !== known.name) || (id !== '' && id !== known.id)) return false;
    if (args === '') return true;
    return args === known.args && name !== '' && id !== '' && isCompleteJson(args);
  }

  #candidate(index: number | undefined, id: string): TrackedCall | undefined {
    const fits = (call: TrackedCall): boolean => index === undefined || call.index === undefined || call.index === index;
    if (id === '') return this.#calls.findLast(fits);
    return this.#calls.findLast((call) => call.id === id && fits(call));
  }

  /** An unknown id opens another call only with a name: some servers make up an id for every fragment. */
  #find({ index, id, name, args }: Fragment): TrackedCall | undefined {
    const call = this.#candidate(index, id) ?? (name === '' ? this.#candidate(index, '') : this.#awaitingId(index));
    if (call === undefined || this.#startsAnother(call, name, args)) return undefined;
    return call;
  }

  /** The call at this index that has had no id yet: an id may come late. */
  #awaitingId(index: number | undefined): TrackedCall | undefined {
    return index === undefined ? undefined : this.#calls.findLast((call) => call.index === index && call.id === '');
  }

  /** A name after arguments have begun starts another call, unless it only repeats the name of arguments that still grow. */
  #startsAnother(call: TrackedCall, name: string, args: string): boolean {
    if (name === '' || call.args === '') return false;
    return name !== call.name || (args.trimStart().startsWith('{') && isCompleteJson(call.args));
  }

  #open({ index, id }: Fragment): TrackedCall {
    if (this.#calls.length === TOOL_CALLS_PER_TURN_MAX) throw this.#failures.protocol(`asked for more than ${TOOL_CALLS_PER_TURN_MAX} tool calls at once`);
    const call: TrackedCall = { block: this.#writer.open('tool-call'), index, id, name: '', args: '' };
    this.#calls.push(call);
    return call;
  }

  #grow(call: TrackedCall, { id, name, args }: Fragment): void {
    if (call.id === '') call.id = id;
    if (name !== '') call.name = mergeName(call.name, name);
    call.args += args;
    this.#writer.call(call.block, call.id, call.name, args);
  }
}
