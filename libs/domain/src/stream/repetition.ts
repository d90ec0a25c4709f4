/** So much text must be nothing but repetitions of one piece; a table or a list does not come near it. */
export const REPETITION_CHARS = 4_096;
/** Longest piece whose repetition is noticed. */
export const REPEATED_PIECE_CHARS_MAX = 512;

/** Length of the shortest piece that the whole text repeats, its own length when it repeats none. */
export function periodOf(text: string): number {
  const borders = new Uint16Array(text.length);
  let border = 0;
  for (let position = 1; position < text.length; position++) {
    const code = text.charCodeAt(position);
    while (border > 0 && code !== text.charCodeAt(border)) border = borders[border - 1]!;
    if (code === text.charCodeAt(border)) border++;
    borders[position] = border;
  }
  return text.length - border;
}

/**
 * Notices a model that says the same for ever. Looks once per `REPETITION_CHARS` at the newest so many characters, so that its cost does
 * not depend on how the text is cut into pieces.
 */
export class RepetitionDetector {
  #tail: string[] = [];
  #chars = 0;

  /** True when the newest text only repeats a piece of at most `REPEATED_PIECE_CHARS_MAX` characters. */
  push(text: string): boolean {
    this.#tail.push(text);
    this.#chars += text.length;
    if (this.#chars < REPETITION_CHARS) return false;
    const newest = this.#tail.join('').slice(-REPETITION_CHARS);
    this.#tail = [];
    this.#chars = 0;
    return periodOf(newest) <= REPEATED_PIECE_CHARS_MAX;
  }
}
