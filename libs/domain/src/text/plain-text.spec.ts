import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stripControlCharacters, truncateChars } from './sanitize.ts';
import { estimateTokens } from './tokens.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 300 });

describe('stripControlCharacters', () => {
  it.each([
    ['escape sequences', 'a\u001b[31mb\u0007\u009bc', 'a[31mbc'],
    ['bidi controls', 'a\u202eb\u2066c\u200fd\u061c', 'abcd'],
    ['zero width', 'a\u200bb\u200dc\ufeffd\u2060', 'abcd'],
    ['tag characters', 'a\u{e0041}\u{e007f}b', 'ab'],
    ['lone surrogates', 'a\ud800b\udc00', 'a\ufffdb\ufffd'],
    ['line ends', 'a\r\nb\rc\n\td', 'a\nb\nc\n\td'],
    ['ordinary text', 'naïve 🦊 水', 'naïve 🦊 水'],
  ])('handles %s', (_name, text, wanted) => {
    expect(stripControlCharacters(text)).toBe(wanted);
  });

  it('changes nothing the second time', () => {
    fc.assert(fc.property(anyText, (text) => stripControlCharacters(stripControlCharacters(text)) === stripControlCharacters(text)));
  });
});

describe('truncateChars', () => {
  it('keeps short text and marks a cut', () => {
    expect(truncateChars('abc', 3)).toBe('abc');
    expect(truncateChars('abcd', 3)).toBe('ab…');
    expect(truncateChars('a🦊bc', 3)).toBe('a…');
    expect(truncateChars('abc', 0)).toBe('');
  });

  it('never grows beyond the bound and never cuts a character in half', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, max) => {
        const cut = truncateChars(text, max);
        expect(cut.length).toBeLessThanOrEqual(max);
        expect(/\p{Surrogate}/u.test(cut)).toBe(false);
      }),
    );
  });
});

describe('estimateTokens', () => {
  it('counts bytes for alphabets and characters for CJK', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens('a'.repeat(36))).toBe(10);
    expect(estimateTokens('é'.repeat(18))).toBe(10);
    expect(estimateTokens('水'.repeat(10))).toBe(10);
    expect(estimateTokens('🦊'.repeat(9))).toBe(10);
  });

  it('never shrinks when text is added', () => {
    fc.assert(fc.property(anyText, anyText, (left, right) => estimateTokens(left + right) >= estimateTokens(left)));
  });

  it('is fast enough for every call', () => {
    const text = 'The quay is long. '.repeat(5_600);
    estimateTokens(text);
    const runs = Array.from({ length: 20 }, () => {
      const before = performance.now();
      estimateTokens(text);
      return performance.now() - before;
    });
    expect(Math.min(...runs)).toBeLessThan(1);
  });
});
