import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findInText, findRelated } from './find-in-text.ts';
import { codePointBoundary } from './one-line.ts';
import { pageCount, pageOf, pageSlice } from './pages.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 200 });
const pageChars = fc.integer({ min: 2, max: 40 });
const allPages = (text: string, chars: number): string[] => Array.from({ length: pageCount(text, chars) }, (_, page) => pageSlice(text, chars, page));

describe('pages', () => {
  it('put together are the text, each within one character of its size, none splitting a code point', () => {
    fc.assert(
      fc.property(anyText, pageChars, (text, chars) => {
        const pages = allPages(text, chars);
        expect(pages.join('')).toBe(text);
        for (const page of pages) expect(page.length).toBeLessThanOrEqual(chars + 1);
        for (const page of pages) expect(page).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });

  it('know the page of every position', () => {
    fc.assert(
      fc.property(anyText, pageChars, (text, chars) => {
        const owners = allPages(text, chars).flatMap((page, index) => Array.from({ length: page.length }, () => index));
        expect(Array.from({ length: text.length }, (_, position) => pageOf(text, chars, position))).toEqual(owners);
      }),
    );
  });

  it('are one empty page for an empty text', () => expect(allPages('', 10)).toEqual(['']));

  it.each([-1, 0.5, 3, Number.NaN, Infinity])('refuse page %d', (page) => {
    expect(() => pageSlice('x'.repeat(25), 10, page)).toThrow(expect.objectContaining({ code: 'PAGE_OUT_OF_RANGE', message: expect.stringContaining('0 to 2') }));
  });

  it('are cut below a pair, not inside it', () => expect(codePointBoundary('a😀b', 2)).toBe(1));
});

describe('findInText', () => {
  const options = { pageChars: 100, contextChars: 5, matchesMax: 15 };

  it('ignores case and line breaks, and reads metacharacters as they are', () => {
    expect(findInText('see the Deep\n  Sea (C++) now', 'deep sea (c++)', options)).toEqual([{ page: 0, text: '…the Deep Sea (C++) now' }]);
    expect(findInText('abc', 'a.c', options)).toEqual([]);
    expect(findInText('abc', '  ', options)).toEqual([]);
  });

  it('keeps positions right where lower case has another length', () => {
    expect(findInText(`${'İ'.repeat(50)}needle`, 'NEEDLE', { ...options, contextChars: 0 })).toEqual([{ page: 0, text: '…needle' }]);
  });

  it('takes the first match of every page before the second of any, at most matchesMax, in reading order', () => {
    const page = `x${' '.repeat(49)}x${' '.repeat(49)}`;
    const found = findInText(page.repeat(10), 'x', { ...options, matchesMax: 12 });
    expect(found.map((match) => match.page)).toEqual([0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('shows the context on one line, with what was cut', () => {
    const [match] = findInText(`${'a'.repeat(300)}\nNEEDLE\n${'b'.repeat(300)}`, 'needle', { pageChars: 8_000, contextChars: 150, matchesMax: 15 });
    expect(match?.text).toBe(`…${'a'.repeat(149)} NEEDLE ${'b'.repeat(149)}…`);
  });

  it('finds nearly every phrase that is really there', () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[a-z0-9]{1,8}$/), fc.string(), (before, phrase, after) => {
        expect(findInText(`${before} ${phrase} ${after}`, phrase.toUpperCase(), options).length).toBeGreaterThan(0);
      }),
    );
  });

  it('is done with hostile text at once', () => {
    const started = performance.now();
    findInText('a '.repeat(50_000), `${'a '.repeat(100)}b`, options);
    findInText(' '.repeat(100_000), 'a b', options);
    findRelated('\n'.repeat(100_000), 'a b', options);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe('findRelated', () => {
  it('ranks passages of at most twice the context, best first', () => {
    const text = `Nothing here.\n${'word '.repeat(30)}\nSolar panels and batteries.\nPanel prices.`;
    const found = findRelated(text, 'battery panels', { pageChars: 50, contextChars: 20, matchesMax: 2 });
    expect(found.map((match) => match.text)).toEqual(['Solar panels and batteries.', 'Panel prices.']);
    expect(found[0]?.page).toBe(pageOf(text, 50, text.indexOf('Solar')));
  });
});
