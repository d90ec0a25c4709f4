import { FORMS, THINK, type OfferedTools, type RegionForm, type TextForm, type TextPiece } from './text-forms.ts';
import { LineState } from './line-state.ts';

/** Longest region, in characters; a longer one is text after all. */
const REGION_CHARS_MAX = 256 * 1024;

/**
 * Finds tool calls and reasoning that a model writes into its text, in the forms it is known for, however the text is cut into pieces. A
 * call counts only whole, outside code blocks, and for a tool that was offered; everything else stays text. Nothing is ever lost.
 */
export class TextFormReader {
  readonly #forms: readonly RegionForm[];
  readonly #tools: OfferedTools;
  readonly #lines = new LineState();
  /** Text that is not decided yet: the beginning of an opener, or the inside of a region. */
  #held = '';
  #region: RegionForm | undefined;
  #isBeginning = true;

  constructor(forms: readonly TextForm[], tools: OfferedTools) {
    this.#forms = forms.flatMap((form) => FORMS[form]);
    this.#tools = tools;
  }

  push(text: string): TextPiece[] {
    this.#held += text;
    const pieces: TextPiece[] = [];
    while (this.#region === undefined ? this.#findRegion(pieces) : this.#closeRegion(pieces, this.#region));
    return pieces;
  }

  /** Call when the model has ended. */
  end(): TextPiece[] {
    const region = this.#region;
    const rest = this.#held;
    this.#region = undefined;
    this.#held = '';
    const read = region?.read(rest, undefined, this.#tools);
    const text = (region?.opener ?? '') + rest;
    return read ?? (text === '' ? [] : [{ kind: 'text', text }]);
  }

  /** Gives out what is surely text; true when a region has begun. */
  #findRegion(pieces: TextPiece[]): boolean {
    const held = this.#held;
    for (let position = 0; position < held.length; position++) {
      const form = this.#formAt(held, position);
      if (form === undefined) {
        this.#pass(held.charAt(position));
        continue;
      }
      this.#give(pieces, held.slice(0, position));
      const isWhole = form !== 'maybe';
      this.#region = isWhole ? form : undefined;
      this.#held = held.slice(position + (isWhole ? form.opener.length : 0));
      if (isWhole) this.#isBeginning = false;
      return isWhole;
    }
    this.#give(pieces, held);
    this.#held = '';
    return false;
  }

  /** The form that begins here, or `maybe` when the text ends inside its opener. */
  #formAt(held: string, position: number): RegionForm | 'maybe' | undefined {
    let maybe: 'maybe' | undefined;
    for (const form of this.#forms) {
      const { opener } = form;
      if (held.charCodeAt(position) !== opener.charCodeAt(0) || !this.#mayBegin(form)) continue;
      if (held.startsWith(opener, position)) return form;
      if (held.length - position < opener.length && opener.startsWith(held.slice(position))) maybe = 'maybe';
    }
    return maybe;
  }

  #mayBegin({ place }: RegionForm): boolean {
    if (place === 'beginning') return this.#isBeginning;
    return !this.#lines.inCode && (place === 'anywhere' || this.#lines.isBlank);
  }

  #pass(character: string): void {
    this.#lines.push(character);
    if (character.trim() !== '') this.#isBeginning = false;
  }

  #give(pieces: TextPiece[], text: string): void {
    if (text !== '') pieces.push({ kind: 'text', text });
  }

  /** Gives out a region that has closed, or grown too long; true when it is over. */
  #closeRegion(pieces: TextPiece[], region: RegionForm): boolean {
    const inside = this.#held.slice(0, REGION_CHARS_MAX);
    const end = firstOf(inside, region.closers);
    if (region === THINK) return this.#think(pieces, end);
    if (end === undefined) {
      if (this.#held.length < REGION_CHARS_MAX) return false;
      this.#asText(pieces, region.opener + inside, inside.length);
      return true;
    }
    const content = inside.slice(0, end.position);
    const read = region.read(content, end.closer, this.#tools);
    const length = end.position + end.closer.length;
    if (read === undefined) this.#asText(pieces, region.opener + inside.slice(0, length), length);
    else {
      pieces.push(...read);
      this.#held = this.#held.slice(length);
      this.#region = undefined;
    }
    return true;
  }

  /** Reasoning is given out as it comes, but for what may be the beginning of its end. */
  #think(pieces: TextPiece[], end: Found | undefined): boolean {
    const held = this.#held;
    const length = end?.position ?? held.length - partialLength(held, THINK.closers[0]!);
    if (length > 0) pieces.push({ kind: 'reasoning', text: held.slice(0, length) });
    this.#held = held.slice(length + (end?.closer.length ?? 0));
    if (end !== undefined) this.#region = undefined;
    return end !== undefined;
  }

  #asText(pieces: TextPiece[], text: string, insideLength: number): void {
    for (const character of text) this.#lines.push(character);
    this.#give(pieces, text);
    this.#held = this.#held.slice(insideLength);
    this.#region = undefined;
  }
}

interface Found {
  position: number;
  closer: string;
}

function firstOf(text: string, closers: readonly string[]): Found | undefined {
  let first: Found | undefined;
  for (const closer of closers) {
    const position = text.indexOf(closer);
    if (position >= 0 && (first === undefined || position < first.position)) first = { position, closer };
  }
  return first;
}

/** How much of the end of a text may be the beginning of `marker`. */
function partialLength(text: string, marker: string): number {
  for (let length = Math.min(marker.length - 1, text.length); length > 0; length--) if (marker.startsWith(text.slice(-length))) return length;
  return 0;
}
