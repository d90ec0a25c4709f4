import { oneLine, rankPassages, terms, truncateChars } from '#domain';

const SNIPPET_CHARS_MAX = 320;
const PASSAGE_CHARS_MAX = 600;
/** Passages that are ranked in earnest; a cheap look for the query's words chooses them. */
const CANDIDATES_MAX = 6;

/** The passage of a text that answers a query best, on one line; its beginning when no passage holds a word of the query. */
export function bestSnippet(query: string, text: string): string {
  const passages = splitPassages(text);
  const candidates = likelyPassages(terms(query), passages);
  const best = rankPassages(query, candidates)[0];
  return truncateChars(oneLine((best === undefined ? undefined : candidates[best.index]) ?? passages[0] ?? ''), SNIPPET_CHARS_MAX);
}

/** Paragraphs of a text; a long one is cut at line or sentence ends, or hard where it has none. */
function splitPassages(text: string): string[] {
  return text.split(/\n\s*\n/).flatMap((paragraph) => (paragraph.length <= PASSAGE_CHARS_MAX ? paragraph : cutParagraph(paragraph)));
}

function cutParagraph(paragraph: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < paragraph.length; ) {
    const window = paragraph.slice(from, from + PASSAGE_CHARS_MAX);
    const isLast = from + window.length >= paragraph.length;
    const boundary = isLast ? window.length : Math.max(window.lastIndexOf('\n'), window.lastIndexOf('. ') + 1);
    const piece = boundary > 0 ? window.slice(0, boundary) : window;
    pieces.push(piece);
    from += piece.length;
  }
  return pieces;
}

function likelyPassages(queryTerms: string[], passages: string[]): string[] {
  // a stem is the beginning of its words but for a final y, which stemming turns into i
  const needles = [...new Set(queryTerms.map((term) => (term.length > 3 && term.endsWith('i') ? term.slice(0, -1) : term)))];
  const counted = passages.map((passage, index) => {
    const lower = passage.toLowerCase();
    return { passage, index, hits: needles.reduce((sum, needle) => sum + (lower.includes(needle) ? 1 : 0), 0) };
  });
  return counted
    .filter(({ hits }) => hits > 0)
    .sort((left, right) => right.hits - left.hits || left.index - right.index)
    .slice(0, CANDIDATES_MAX)
    .map(({ passage }) => passage);
}
