import type { BaseStream } from './base-streams.ts';
import type { Lots } from './lots.ts';

export type Mutation = 'none' | 'cut' | 'reorder' | 'duplicate' | 'split' | 'garble';

const MUTATIONS: readonly Mutation[] = ['none', 'cut', 'reorder', 'duplicate', 'split', 'garble'];
/** Bytes that stand nowhere in an event stream of JSON. */
const STRANGE_BYTES = [0x00, 0x01, 0x0b, 0x1f];
const GARBAGE = ['data: {"choices": [\n\n', 'data: <html>\n\n', 'data: \u0001\n\n', 'junk\n\n', 'data: []\n\n'];

export interface MutatedStream {
  mutation: Mutation;
  pieces: Buffer[];
}

/**
 * Which part of an answer an event belongs to. Protocols number parts, not fragments: two fragments of one part in another order are
 * another answer, which no reader can tell, so that only events of different parts change places.
 */
function partOf(event: string): string {
  const index = /"tool_calls":\[\{"index":(\d+)/.exec(event) ?? /"output_index":(\d+)/.exec(event) ?? /"index":(\d+)/.exec(event.includes('"choices"') ? '' : event);
  if (index !== null) return `part ${index[1]}`;
  if (/"tool_calls":\[/.test(event)) return 'calls';
  return /"content":"[^"]|"reasoning|"content":\[/.test(event) ? 'text' : 'frame';
}

/** A fragment that says something again cannot be told from one that says it twice: only other events are repeated. */
const isFragment = (event: string): boolean => /_delta"|\.delta"|"tool_calls":\[|"content":"[^"]|"reasoning|"content":\[/.test(event);

function reordered(events: readonly string[], lots: Lots): string[] {
  const changed = [...events];
  const from = lots.below(events.length);
  const to = lots.below(events.length);
  const between = events.slice(Math.min(from, to), Math.max(from, to) + 1);
  const [first, last] = [between[0] ?? '', between.at(-1) ?? ''];
  const isFree = (moved: string): boolean => between.filter((event) => partOf(event) === partOf(moved)).length === 1 || partOf(moved) === 'frame';
  if (isFree(first) && isFree(last)) [changed[from], changed[to]] = [events[to]!, events[from]!];
  return changed;
}

function duplicated(events: readonly string[], lots: Lots): string[] {
  const position = lots.below(events.length);
  const event = events[position]!;
  if (isFragment(event)) return [...events];
  const place = position + 1 + lots.below(events.length - position);
  return [...events.slice(0, place), event, ...events.slice(place)];
}

function garbled(events: readonly string[], lots: Lots): Buffer {
  if (lots.below(2) === 0) {
    const place = lots.below(events.length);
    return Buffer.from([...events.slice(0, place), lots.pick(GARBAGE), ...events.slice(place)].join(''));
  }
  const bytes = Buffer.from(events.join(''));
  for (let count = 1 + lots.below(3); count > 0; count--) bytes[lots.below(bytes.length)] = lots.pick(STRANGE_BYTES);
  return bytes;
}

function split(bytes: Buffer, lots: Lots): Buffer[] {
  const pieces: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + 1 + lots.below(lots.below(3) === 0 ? 3 : 200);
    pieces.push(bytes.subarray(start, end));
    start = end;
  }
  return pieces;
}

/** One stream with one kind of damage. */
export function mutate({ events, isGood }: BaseStream, lots: Lots): MutatedStream {
  const mutation = isGood ? lots.pick(MUTATIONS) : 'split';
  const whole = (): Buffer => Buffer.from(events.join(''));
  switch (mutation) {
    case 'none':
      return { mutation, pieces: [whole()] };
    case 'cut':
      return { mutation, pieces: [whole().subarray(0, lots.below(whole().length))] };
    case 'reorder':
      return { mutation, pieces: [Buffer.from(reordered(events, lots).join(''))] };
    case 'duplicate':
      return { mutation, pieces: [Buffer.from(duplicated(events, lots).join(''))] };
    case 'split':
      return { mutation, pieces: split(whole(), lots) };
    case 'garble':
      return { mutation, pieces: split(garbled(events, lots), lots) };
  }
}
