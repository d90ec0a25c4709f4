const GONE = -1;
const ENTRIES_FIRST = 1024;

/** Old number -> new number of every event of an artifact, at four bytes an event: nine million of them fit in 36 MB. */
export class SeqTable {
  #entries = new Int32Array(ENTRIES_FIRST).fill(GONE);

  set(from: number, to: number): void {
    if (from >= this.#entries.length) {
      const grown = new Int32Array(Math.max(from + 1, this.#entries.length * 2)).fill(GONE);
      grown.set(this.#entries);
      this.#entries = grown;
    }
    this.#entries[from] = to;
  }

  get(from: number): number | undefined {
    const to = this.#entries[from] ?? GONE;
    return to === GONE ? undefined : to;
  }
}
