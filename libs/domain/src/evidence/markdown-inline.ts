/**
 * The parts of Markdown text that point somewhere. A scanner of our own, because what it must never do is miss a link that a renderer would
 * make: whatever is no known token is `text`, and `text` cannot form a link or an image with what stands next to it.
 */
export type InlineToken =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'image' }
  /** `[label](target)`. */
  | { kind: 'link'; label: string; target: string }
  /** `<target>` or a bare address. */
  | { kind: 'address'; target: string }
  /** `[label][reference]`, `[label][]` or `[label]`. */
  | { kind: 'reference'; label: string; reference: string };

const BARE_ADDRESS = /(?:https?:\/\/|www\.|\bdoc:(?=[^\s:]))[^\s<>"`[\]{}|\\^]+/iy;
const ANGLE_ADDRESS = /<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>/iy;
const ACTIVE_HTML = /<\/?(?:img|picture|source|video|audio|track|iframe|frame|object|embed|svg|math|script|style|link|meta|base|form|input)\b[^<>]*>?/iy;
const CODE_TICKS = /`+/y;
const TARGET = /\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)/y;
const REFERENCE = /\[([^[\]]*)\]/y;
const LABEL_CHARS_MAX = 2_000;
// Code that could hold a link if a renderer should disagree about where the code ends is scanned as text.
const LINK_LIKE = /\]\(|\/\/|!\[/;
const PLAIN_RUN = /[^\\`![\]<hHwWdD]+/y;

interface Scan {
  token: InlineToken;
  end: number;
}

/** Tokens of one block of Markdown, in order. Linear but for link labels, which are bounded; never throws. */
export function inlineTokens(source: string): InlineToken[] {
  const tokens: InlineToken[] = [];
  let plain = '';
  for (let at = 0; at < source.length; ) {
    const scan = scanAt(source, at);
    if (scan.token.kind === 'text') plain += scan.token.text;
    else {
      if (plain !== '') tokens.push({ kind: 'text', text: plain });
      plain = '';
      tokens.push(scan.token);
    }
    at = scan.end;
  }
  if (plain !== '') tokens.push({ kind: 'text', text: plain });
  return tokens;
}

function scanAt(source: string, at: number): Scan {
  switch (source[at]) {
    case '\\':
      return scanEscape(source, at);
    case '`':
      return scanCode(source, at);
    case '!':
      return source[at + 1] === '[' ? scanImage(source, at) : text('!', at + 1);
    case '[':
      return scanBracket(source, at) ?? text('\\[', at + 1);
    case ']':
      return text(source[at + 1] === '(' || source[at + 1] === '[' ? '\\]' : ']', at + 1);
    case '<':
      return scanAngle(source, at);
    default:
      return scanAddress(source, at) ?? scanPlain(source, at);
  }
}

function scanEscape(source: string, at: number): Scan {
  const escaped = source[at + 1] ?? '';
  if (escaped === '<') return text('&lt;', at + 2);
  return /[!-/:-@[-`{-~]/.test(escaped) ? text(source.slice(at, at + 2), at + 2) : text('\\', at + 1);
}

function scanCode(source: string, at: number): Scan {
  const ticks = matchAt(CODE_TICKS, source, at)?.[0] ?? '`';
  for (let close = source.indexOf(ticks, at + ticks.length); close !== -1; close = source.indexOf(ticks, close + 1)) {
    if (source[close - 1] === '`' || source[close + ticks.length] === '`') continue;
    const end = close + ticks.length;
    const code = source.slice(at, end);
    return LINK_LIKE.test(code) ? text(ticks, at + ticks.length) : { token: { kind: 'code', text: code }, end };
  }
  return text(ticks, at + ticks.length);
}

function scanImage(source: string, at: number): Scan {
  const bracket = scanBracket(source, at + 1);
  return bracket === null ? text('!\\[', at + 2) : { token: { kind: 'image' }, end: bracket.end };
}

function scanBracket(source: string, at: number): Scan | null {
  const close = closingBracket(source, at);
  if (close === -1) return null;
  const label = source.slice(at + 1, close);
  const target = matchAt(TARGET, source, close + 1);
  if (target !== null) return { token: { kind: 'link', label, target: target[1] ?? target[2] ?? '' }, end: close + 1 + target[0].length };
  if (source[close + 1] === '(') return null;
  const reference = matchAt(REFERENCE, source, close + 1);
  if (reference === null) return { token: { kind: 'reference', label, reference: label }, end: close + 1 };
  // `[1][2]` is two citations, not a link named 1.
  if (isCitationMark(label) && isCitationMark(reference[1] ?? '')) return { token: { kind: 'reference', label, reference: label }, end: close + 1 };
  return { token: { kind: 'reference', label, reference: reference[1] || label }, end: close + 1 + reference[0].length };
}

/** Whether a label is a citation mark such as `7`, `1, 2` or `^note`. */
export function isCitationMark(label: string): boolean {
  return /^(?:\^[^\s^]{1,32}|\d{1,3}(?:\s*[,;]\s*\d{1,3})*)$/.test(label.trim());
}

function closingBracket(source: string, at: number): number {
  const end = Math.min(source.length, at + LABEL_CHARS_MAX);
  for (let index = at + 1, depth = 1; index < end; index++) {
    const char = source[index];
    if (char === '\\') index++;
    else if (char === '[') depth++;
    else if (char === ']' && --depth === 0) return index;
  }
  return -1;
}

function scanAngle(source: string, at: number): Scan {
  const address = matchAt(ANGLE_ADDRESS, source, at);
  if (address !== null) return { token: { kind: 'address', target: address[1] ?? '' }, end: at + address[0].length };
  const html = matchAt(ACTIVE_HTML, source, at);
  if (html !== null) return { token: { kind: 'image' }, end: at + html[0].length };
  return text(/[a-z/!?]/i.test(source[at + 1] ?? '') ? '&lt;' : '<', at + 1);
}

function scanAddress(source: string, at: number): Scan | null {
  if (/[\p{L}\p{N}]/u.test(source[at - 1] ?? '')) return null;
  const match = matchAt(BARE_ADDRESS, source, at);
  if (match === null) return null;
  const target = withoutTrailingMarks(match[0]);
  return { token: { kind: 'address', target }, end: at + target.length };
}

// A full stop or an unopened parenthesis after an address belongs to the sentence.
function withoutTrailingMarks(address: string): string {
  let unopened = address.split(')').length - address.split('(').length;
  for (let end = address.length; end > 0; end--) {
    const last = address[end - 1] ?? '';
    const isUnopened = last === ')' && unopened-- > 0;
    if (!isUnopened && !/[.,;:!?'*_~”’»]/.test(last)) return address.slice(0, end);
  }
  return address;
}

function scanPlain(source: string, at: number): Scan {
  const run = matchAt(PLAIN_RUN, source, at)?.[0] ?? source[at] ?? '';
  return text(run, at + run.length);
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}

const text = (content: string, end: number): Scan => ({ token: { kind: 'text', text: content }, end });
