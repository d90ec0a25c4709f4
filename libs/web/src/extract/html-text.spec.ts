import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureHtml } from './html-shape.ts';
import { decodeEntities, stripHtml } from './html-text.ts';
import { scanHtml } from './scan-html.ts';

describe('stripHtml', () => {
  it.each([
    ['<p>One <b>two</b>  three</p><p>four<br>five</p>', 'One two three\n\nfour\n\nfive'],
    ['a<script>let b = "<p>c</p>";</script><style>p{}</style>d', 'a\n\nd'],
    ['1 < 2 & 3 > 2', '1 < 2 & 3 > 2'],
    ['<a href="x>y">link</a>', 'link'],
    ['<!-- <p>no</p> -->yes<!doctype html>', 'yes'],
    ['Tom &amp; Jerry &#8211; &#x2014; &nosuch; &#0;', 'Tom & Jerry – — &nosuch; \ufffd'],
    ['<p>cut <b', 'cut'],
    ['', ''],
  ])('%j becomes %j', (html, text) => {
    expect(stripHtml(html)).toBe(text);
  });

  it('[Q-17] takes linear time on what makes careless patterns slow', () => {
    for (const unit of ['<b> ', '<a b="', '<title></title>', '< ', '&amp;', ' \n', '<!--', '<p class=']) {
      const started = performance.now();
      stripHtml(unit.repeat(500_000));
      measureHtml(unit.repeat(500_000));
      expect(performance.now() - started).toBeLessThan(3_000);
    }
  });
});

describe('decodeEntities', () => {
  it('never throws and leaves text without references alone', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(decodeEntities(text.replaceAll('&', ''))).toBe(text.replaceAll('&', ''));
        decodeEntities(`&#${text};&#x${text};&${text};`);
      }),
    );
  });
});

describe('scanHtml', () => {
  it('tags and texts lie in order, within bounds, on any input', () => {
    const fragment = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('<', '>', '</', '<!--', '-->', '"', "='", '<p>', '<script>', '</script>', '<a b="c">', '<title'));
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 30 }), (fragments) => {
        const html = fragments.join('');
        let at = 0;
        scanHtml(html, ({ start, end }) => {
          expect(start).toBeGreaterThanOrEqual(at);
          expect(end).toBeGreaterThan(start);
          at = end;
        }, (start, end) => {
          expect(start).toBeGreaterThanOrEqual(at);
          expect(end).toBeGreaterThanOrEqual(start);
          at = end;
        });
        expect(at).toBe(html.length);
      }),
    );
  });
});

describe('measureHtml', () => {
  it.each<[string, object]>([
    ['<title>A &amp; B</title><body><main><p>text</p></main>', { title: 'A & B', main: { textChars: 4, linkChars: 0, isCluttered: false } }],
    ['<main><article>12345<a href="/">678</a></article></main>', { main: { textChars: 8, linkChars: 3 } }],
    ['<main>a</main><main>b</main>', { main: null }],
    ['<article>a</article><article>b</article><main>c</main>', { main: null }],
    ['<article>never closed', { main: null }],
    ['<ul><li>a<li>b<li>c<br><br></ul>', { depth: 1 }],
    ['<div><div><p><p><p></div></div>', { depth: 2 }],
    ['</div></div><div>', { depth: 1 }],
  ])('%s', (html, expected) => {
    expect(measureHtml(html)).toMatchObject(expected);
  });
});
