import { scanHtml } from './scan-html.ts';

const INLINE = new Set(['a', 'abbr', 'b', 'bdi', 'bdo', 'cite', 'code', 'em', 'font', 'i', 'kbd', 'mark', 'q', 's', 'samp', 'small', 'span', 'strong', 'sub', 'sup', 'time', 'u', 'var', 'wbr']);

const ENTITIES: Record<string, string> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—', hellip: '…', lsquo: '‘', rsquo: '’', ldquo: '“',
  rdquo: '”', laquo: '«', raquo: '»', bull: '•', middot: '·', copy: '©', reg: '®', trade: '™', euro: '€', pound: '£', deg: '°', times: '×',
};

/**
 * The text of a page by plain removal of its tags: the last resort for a page that no parser survives. Block elements end a line, scripts
 * and styles are dropped. Linear time on any input.
 */
export function stripHtml(html: string): string {
  const parts: string[] = [];
  scanHtml(
    html,
    ({ name }) => {
      if (!INLINE.has(name)) parts.push('\n');
    },
    (start, end) => {
      if (end > start) parts.push(html.slice(start, end).replace(/\s+/g, ' '));
    },
  );
  const lines = parts.join('').replace(/ {2,}/g, ' ').split('\n').map((line) => line.trim());
  return decodeEntities(lines.filter((line) => line !== '').join('\n\n'));
}

/** Numeric references and the named ones that ordinary prose uses; others are left as they stand. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? whole) : whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
  });
}
