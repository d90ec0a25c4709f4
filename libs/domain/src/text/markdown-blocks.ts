/** What a stretch of Markdown is. `code` is one line of a fence; `field` is one line of a `Name: value` list. */
export type BlockKind = 'paragraph' | 'heading' | 'list-item' | 'table-row' | 'code' | 'quote' | 'field';

/** `start` and `end` leave out the marker of the block (`# `, `- `, `> `). */
export interface MarkdownBlock {
  kind: BlockKind;
  start: number;
  end: number;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}[ \t]+/;
const QUOTE = /^(?: {0,3}>[ \t]?)+/;
const LIST_ITEM = /^[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/;
const TABLE_ROW = /^[ \t]*\|/;
const RULE = /^[ \t]*(?:[-=*_][ \t]*){3,}$/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const TABLE_RULE = /^[ \t:|-]+$/;
const FIELD = /^[ \t]*\p{L}[^:.!?\n]{0,48}:[ \t]+\S/u;
const HARD_BREAK = /(?: {2}|\\)$/;

interface Cursor {
  blocks: MarkdownBlock[];
  /** Block that a plain line would continue. */
  open: MarkdownBlock | null;
  fence: string | null;
}

/** Blocks of a Markdown text in order. Never throws: whatever is no known block is a paragraph. Linear in the text. */
export function markdownBlocks(text: string): MarkdownBlock[] {
  const cursor: Cursor = { blocks: [], open: null, fence: null };
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(start, end > start && text.charCodeAt(end - 1) === 13 ? end - 1 : end);
    readLine(cursor, line, start);
    start = end + 1;
  }
  return cursor.blocks;
}

function readLine(cursor: Cursor, line: string, start: number): void {
  const fence = FENCE.exec(line)?.[1];
  if (cursor.fence !== null) {
    if (fence !== undefined && closes(cursor.fence, fence)) cursor.fence = null;
    else if (line.trim() !== '') add(cursor, 'code', line, start, 0);
  } else if (fence !== undefined) {
    cursor.fence = fence;
    cursor.open = null;
  } else readTextLine(cursor, line, start);
}

function closes(opened: string, fence: string): boolean {
  return fence[0] === opened[0] && fence.length >= opened.length;
}

function readTextLine(cursor: Cursor, line: string, start: number): void {
  if (line.trim() === '') cursor.open = null;
  else if (cursor.open?.kind === 'paragraph' && UNDERLINE.test(line)) endAsHeading(cursor);
  else if (RULE.test(line) || (line.includes('-') && TABLE_RULE.test(line))) cursor.open = null;
  else if (HEADING.test(line)) add(cursor, 'heading', withoutClosingMarks(line), start, markerLength(HEADING, line));
  else if (QUOTE.test(line)) add(cursor, 'quote', line, start, markerLength(QUOTE, line));
  else if (TABLE_ROW.test(line)) add(cursor, 'table-row', line, start, 0);
  else if (LIST_ITEM.test(line)) keepOpen(cursor, add(cursor, 'list-item', line, start, markerLength(LIST_ITEM, line)), line);
  else readPlainLine(cursor, line, start);
}

function readPlainLine(cursor: Cursor, line: string, start: number): void {
  const open = cursor.open;
  const isField = FIELD.test(line);
  if (open !== null && !(isField && open.kind === 'field')) {
    if (open.kind === 'field') open.kind = 'paragraph';
    open.end = start + line.trimEnd().length;
    keepOpen(cursor, open, line);
  } else keepOpen(cursor, add(cursor, isField ? 'field' : 'paragraph', line, start, 0), line);
}

function endAsHeading(cursor: Cursor): void {
  if (cursor.open !== null) cursor.open.kind = 'heading';
  cursor.open = null;
}

function keepOpen(cursor: Cursor, block: MarkdownBlock | null, line: string): void {
  cursor.open = HARD_BREAK.test(line) ? null : block;
}

/** `# Title #` is `# Title`; `# C#` stays. A loop, because a pattern anchored at the end alone is quadratic on a line of spaces. */
function withoutClosingMarks(line: string): string {
  const trimmed = line.trimEnd();
  let end = trimmed.length;
  while (end > 0 && trimmed[end - 1] === '#') end -= 1;
  return /\s/.test(trimmed[end - 1] ?? '') ? trimmed.slice(0, end) : trimmed;
}

function markerLength(marker: RegExp, line: string): number {
  return marker.exec(line)?.[0].length ?? 0;
}

function add(cursor: Cursor, kind: BlockKind, line: string, lineStart: number, marker: number): MarkdownBlock | null {
  cursor.open = null;
  const content = line.slice(marker);
  const start = lineStart + marker + (content.length - content.trimStart().length);
  const end = lineStart + marker + content.trimEnd().length;
  if (end <= start) return null;
  const block: MarkdownBlock = { kind, start, end };
  cursor.blocks.push(block);
  return block;
}
