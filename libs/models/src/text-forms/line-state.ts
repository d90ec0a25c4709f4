const FENCE = '```';

/** Where a text stands: at the blank beginning of a line, and inside a fenced code block or not. Takes one character at a time. */
export class LineState {
  /** True while the line holds nothing but blanks. */
  isBlank = true;
  inCode = false;
  #start = '';

  push(character: string): void {
    if (character === '\n') {
      this.isBlank = true;
      this.#start = '';
      return;
    }
    if (character.trim() === '' && this.isBlank) return;
    this.isBlank = false;
    if (this.#start.length >= FENCE.length) return;
    this.#start += character;
    if (this.#start === FENCE) this.inCode = !this.inCode;
  }
}
