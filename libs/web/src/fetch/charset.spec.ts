import { describe, expect, it } from 'vitest';
import { decodeText } from './charset.ts';

const RUSSIAN = 'Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства.';

/** Single-byte Cyrillic as windows-1251 has it. */
function windows1251(text: string): Buffer {
  return Buffer.from(Array.from(text, (character) => {
    const code = character.charCodeAt(0);
    if (code < 128) return code;
    if (character === 'ё') return 0xb8;
    return code - 0x410 + 0xc0;
  }));
}

describe('decodeText', () => {
  it.each<[string, Buffer, string | undefined, string]>([
    ['UTF-8 without a word about it', Buffer.from('naïve – 日本'), undefined, 'naïve – 日本'],
    ['a byte order mark against the HTTP label', Buffer.from('\ufeffnaïve'), 'iso-8859-1', 'naïve'],
    ['the HTTP label', Buffer.from([0x6e, 0x61, 0xef]), 'iso-8859-1', 'naï'],
    ['the HTTP label against meta', Buffer.concat([Buffer.from('<meta charset="utf-8">'), Buffer.from([0xef])]), 'windows-1252', '<meta charset="utf-8">ï'],
    ['meta charset', Buffer.concat([Buffer.from('<meta charset="windows-1251">'), windows1251('Привет')]), undefined, '<meta charset="windows-1251">Привет'],
    ['meta http-equiv', Buffer.concat([Buffer.from('<meta http-equiv="content-type" content="text/html; charset=shift_jis">'), Buffer.from([0x93, 0xfa])]), undefined, '<meta http-equiv="content-type" content="text/html; charset=shift_jis">日'],
    ['UTF-16 with a label', Buffer.from('text', 'utf16le'), 'utf-16le', 'text'],
    ['undeclared windows-1251', windows1251(RUSSIAN), undefined, RUSSIAN],
    ['a label nobody knows', Buffer.from('naïve'), 'x-klingon', 'naïve'],
    ['no bytes', Buffer.alloc(0), undefined, ''],
  ])('reads %s', (_, bytes, label, expected) => {
    expect(decodeText(bytes, label)).toBe(expected);
  });
});
