/** Everything that moves a cursor, turns text around or is not seen: C0 and C1 but tab and newline, bidi controls, zero width, tags. */
const HIDDEN = /(?![\n\t])\p{Cc}|[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;
const CARRIAGE_RETURN = /\r\n?/g;
/** Most pages are plain: one cheap scan saves three expensive ones. */
const PLAIN = /^[\t\n\x20-\x7e]*$/;
const ELLIPSIS = '…';

/**
 * Text that is safe to print, store and show to a model: `\r\n` and `\r` become `\n`, hidden and control characters go, a lone surrogate
 * becomes U+FFFD. Tab and newline stay. Applying it twice changes nothing.
 */
export function stripControlCharacters(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(CARRIAGE_RETURN, '\n').replace(HIDDEN, '').replace(LONE_SURROGATE, '\ufffd');
}

/** The text in at most `max` UTF-16 units; a cut text ends in `…` and never in half a character. */
export function truncateChars(text: string, max: number): string {
  if (text.length <= max) return text;
  if (max < 1) return '';
  const end = max - ELLIPSIS.length;
  return text.slice(0, splitsPair(text, end) ? end - 1 : end) + ELLIPSIS;
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
