export interface FoundQuote {
  /** Exactly `text.slice(start, end)` of the source. */
  quote: string;
  start: number;
  end: number;
}

/** A text as quotes are compared: one space for any white space, plain quotation marks and dashes, no Markdown marks. */
export interface FoldedText {
  original: string;
  folded: string;
  /** Position in `original` of each unit of `folded`. */
  positions: Uint32Array;
}

const PART_CHARS_MIN = 10;
const DROP = 0;
const SPACE = 32;
const NEWLINE = 10;
const CLOSING_BRACKET = 93;
const ELLIPSIS = /\s*(?:\[?…\]?|\[\.{3,}\]|\.{3,})\s*/;
const LINE_MARK = /[ \t]*(?:>[ \t]*)+/y;
const LINK_TARGET = /\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s"[^"\n]*")?\)/y;

// UTF-16 unit -> the unit it is compared as; `DROP` leaves it out.
const FOLD = foldTable();

function foldTable(): Uint16Array {
  const table = Uint16Array.from({ length: 0x10000 }, (_, unit) => (/\s/.test(String.fromCharCode(unit)) ? SPACE : unit));
  const set = (units: string, folded: number): void => {
    for (const unit of units) table[unit.charCodeAt(0)] = folded;
  };
  set('“”„«»', '"'.charCodeAt(0));
  set('‘’‚', "'".charCodeAt(0));
  set('–—‑−', '-'.charCodeAt(0));
  set('*_`\\[]\u0000\u00ad\u200b\u200c\u200d\u2060\ufeff', DROP);
  return table;
}

/** Folds a text once, for any number of look-ups. Linear. */
export function foldText(original: string): FoldedText {
  const positions = new Uint32Array(original.length);
  const units = new Uint16Array(original.length);
  let length = 0;
  for (let at = 0; at < original.length; at++) {
    const skipped = skippedAt(original, at);
    if (skipped > 0) {
      at += skipped - 1;
      continue;
    }
    const unit = FOLD[original.charCodeAt(at)] ?? DROP;
    if (unit === DROP || (unit === SPACE && (length === 0 || units[length - 1] === SPACE))) continue;
    positions[length] = at;
    units[length++] = unit;
  }
  return { original, folded: new TextDecoder('utf-16le').decode(units.subarray(0, length)), positions };
}

// Marks of a block quote at a line start, and the address of a Markdown link: neither is part of the words.
function skippedAt(text: string, at: number): number {
  const isLineStart = at === 0 || text.charCodeAt(at - 1) === NEWLINE;
  const pattern = text.charCodeAt(at) === CLOSING_BRACKET ? LINK_TARGET : isLineStart ? LINE_MARK : null;
  if (pattern === null) return 0;
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

/**
 * Where a quote stands in a source, or an empty list when it does not. White space, quotation marks, dashes and Markdown marks may differ,
 * as may the letter case of the first character and the punctuation at both ends; every other character must be there. A quote with
 * ellipses is found when all its parts stand in the source in order; each then has its own position.
 */
export function findQuote(quote: string, source: FoldedText): FoundQuote[] {
  const parts = quote.split(ELLIPSIS).map(bare).filter((part) => part !== '');
  const shortest = parts.length > 1 ? PART_CHARS_MIN : 1;
  const found: FoundQuote[] = [];
  let from = 0;
  for (const part of parts) {
    const at = part.length < shortest ? -1 : indexOfPart(source.folded, part, from);
    if (at === -1) return [];
    from = at + part.length;
    found.push(spanOf(source, at, from));
  }
  return found;
}

const bare = (part: string): string => foldText(part).folded.trim().replace(/^["'(]+|[\s"'().,;:!?-]+$/g, '');

function indexOfPart(folded: string, part: string, from: number): number {
  const at = folded.indexOf(part, from);
  if (at !== -1) return at;
  const first = part[0] ?? '';
  const other = first === first.toLowerCase() ? first.toUpperCase() : first.toLowerCase();
  return other.length === 1 && other !== first ? folded.indexOf(other + part.slice(1), from) : -1;
}

function spanOf({ original, positions }: FoldedText, from: number, to: number): FoundQuote {
  const start = positions[from] ?? 0;
  const end = (positions[to - 1] ?? start) + 1;
  return { quote: original.slice(start, end), start, end };
}
