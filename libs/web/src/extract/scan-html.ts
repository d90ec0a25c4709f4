/** Elements whose content is not markup; it is passed over with its tag. */
const RAW_TEXT = new Set(['script', 'style', 'title', 'textarea', 'iframe', 'noembed', 'noframes', 'xmp', 'template']);
const TAG_NAME = /[a-z][a-z0-9:-]*/iy;

export interface HtmlTag {
  /** Lower case. */
  name: string;
  isClosing: boolean;
  start: number;
  /** Behind the `>`; for elements whose content is not markup, behind their closing tag. */
  end: number;
}

/**
 * Visits every tag of a document in order, comments and declarations left out. One pass in linear time on any input: broken markup makes
 * it miss tags, never hang. `onText` gets the bounds of what stands between two tags.
 */
export function scanHtml(html: string, onTag: (tag: HtmlTag) => void, onText: (start: number, end: number) => void): void {
  let textStart = 0;
  let at = html.indexOf('<');
  while (at !== -1) {
    const end = markupEnd(html, at, onTag, () => onText(textStart, at));
    if (end !== null) textStart = end;
    at = html.indexOf('<', end ?? at + 1);
  }
  onText(textStart, html.length);
}

/** Where the markup that opens at `at` ends, or null when that `<` is plain text. */
function markupEnd(html: string, at: number, onTag: (tag: HtmlTag) => void, flushText: () => void): number | null {
  const next = html[at + 1];
  if (next === '!' || next === '?') {
    flushText();
    return html.startsWith('<!--', at) ? after(html, '-->', at + 4) : after(html, '>', at + 2);
  }
  const isClosing = next === '/';
  TAG_NAME.lastIndex = isClosing ? at + 2 : at + 1;
  const found = TAG_NAME.exec(html);
  if (found === null) return null;
  flushText();
  const name = found[0].toLowerCase();
  let end = tagEnd(html, TAG_NAME.lastIndex);
  if (!isClosing && RAW_TEXT.has(name)) end = rawTextEnd(html, name, end);
  onTag({ name, isClosing, start: at, end });
  return end;
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found === -1 ? html.length : found + mark.length;
}

/** Behind the `>` that closes a tag; one inside a quoted attribute does not. */
function tagEnd(html: string, from: number): number {
  let quote = 0;
  for (let at = from; at < html.length; at++) {
    const code = html.charCodeAt(at);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === 62) {
      return at + 1;
    } else if ((code === 34 || code === 39) && html.charCodeAt(at - 1) === 61) {
      quote = code;
    }
  }
  return html.length;
}

function rawTextEnd(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}[\\s/>]`, 'gi');
  closing.lastIndex = from;
  const found = closing.exec(html);
  return found === null ? html.length : after(html, '>', found.index);
}
