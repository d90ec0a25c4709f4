import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalUrl, documentPath, documentUrl, isDocumentUrl } from './canonical-url.ts';

const refused = expect.objectContaining({ code: 'URL_REFUSED' });

describe('canonicalUrl', () => {
  it.each([
    ['HTTP://Example.COM', 'http://example.com/'],
    ['https://example.com:443/a#part', 'https://example.com/a'],
    ['http://example.com:80/', 'http://example.com/'],
    ['http://example.com:8080/', 'http://example.com:8080/'],
    ['https://example.com./a', 'https://example.com/a'],
    ['https://example.com/?b=2&utm_source=x&a=1&gclid=y&fbclid=z&UTM_Medium=q', 'https://example.com/?b=2&a=1'],
    ['https://example.com/?utm_source=x', 'https://example.com/'],
    ['https://example.com/?', 'https://example.com/'],
    ['https://example.com/?q=a%20b+c&q=', 'https://example.com/?q=a%20b+c&q='],
    ['http:\\\\example.com\\a', 'http://example.com/a'],
    ['http://ⓔxample.com/', 'http://example.com/'],
    ['DOC:guide/first%20steps.md#top', 'doc:guide/first%20steps.md'],
    ['doc:plain name.md', 'doc:plain%20name.md'],
  ])('%s becomes %s', (address, expected) => {
    expect(canonicalUrl(address)).toBe(expected);
  });

  it.each([
    '', 'example.com', '/relative', 'http://', 'http://user@example.com/', 'http://user:pw@example.com/', 'http://a.com@127.0.0.1',
    'http://example.com../', 'file:///etc/passwd', 'ftp://example.com/', 'javascript:alert(1)', 'data:text/plain,a', 'view-source:http://a.com',
    'doc:', 'doc:/etc/passwd', 'doc:../secret.md', 'doc:a/../b.md', 'doc:a/%2e%2e/b.md', 'doc:a%2Fb.md', 'doc:a//b.md', 'doc:a%00.md',
    'doc:a%5Cb.md', 'doc:bad%escape.md', `https://example.com/${'a'.repeat(5_000)}`,
  ])('refuses %s', (address) => {
    expect(() => canonicalUrl(address)).toThrow(refused);
  });

  it('changes nothing when applied twice, and never keeps a fragment or a tracking key', () => {
    const query = fc.array(fc.tuple(fc.constantFrom('utm_source', 'gclid', 'q', 'page', 'a b'), fc.string({ maxLength: 8 })), { maxLength: 5 });
    fc.assert(
      fc.property(fc.webUrl({ withFragments: true }), query, (base, pairs) => {
        const url = new URL(base);
        for (const [key, value] of pairs) url.searchParams.append(key, value);
        const once = canonicalUrl(url.href);
        expect(canonicalUrl(once)).toBe(once);
        expect(once).not.toMatch(/#|[?&](utm_|gclid|fbclid)/i);
      }),
    );
  });

  it('any input ends in a canonical address or in URL_REFUSED', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string().map((text) => `http://${text}`), fc.string().map((text) => `doc:${text}`)), (address) => {
        try {
          expect(canonicalUrl(canonicalUrl(address))).toBe(canonicalUrl(address));
        } catch (error) {
          expect(error).toEqual(refused);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('document addresses', () => {
  it('a path survives the way through its address', () => {
    const segment = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !/[/\\\0]/.test(text) && text !== '.' && text !== '..');
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), (segments) => {
        const path = segments.join('/');
        const url = documentUrl(path);
        expect(documentPath(url)).toBe(path);
        expect(canonicalUrl(url)).toBe(url);
        expect(isDocumentUrl(url)).toBe(true);
      }),
    );
  });
});
