import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SourceId } from '#contracts';
import { canonicalUrl } from '../web/canonical-url.ts';
import { checkReport, type ReportSource } from './check-report.ts';

const source = (over: Partial<ReportSource> & { url: string }): ReportSource => ({
  id: `src_${over.url}` as SourceId,
  title: 'Tides',
  text: '',
  bodySha256: 'abcdef1234567890'.repeat(4),
  fetchedAt: '2026-11-30T10:00:00.000Z',
  ...over,
});

const tides = source({
  url: 'https://e.org/tides',
  urlVariants: ['https://www.e.org/tides?utm_source=x'],
  text: 'Tides.\n\nThe *moon* pulls the water of\nthe oceans [towards it](https://e.org/moon). That’s why “high tide” comes twice a day – nearly.',
});
const salt = source({ url: 'https://e.org/salt', title: 'Salt', text: 'Sea water holds 35 grams of salt per litre on average.' });
const guide = source({ url: 'doc:guide/My%20File.md', title: 'Guide', text: 'Run the installer before you start the server.' });
const sea = source({ url: 'https://e.org/Sea_(big)', title: 'Sea' });
const check = (markdown: string, sources = [tides, salt, guide, sea]) => checkReport(markdown, sources, canonicalUrl);
const body = (markdown: string, sources?: ReportSource[]) => check(markdown, sources).report.replace(/(?:^|\n\n)## Sources\n\n\[1\] [^]*$/, '');

const MARK = '(unverified: not read in this run)';
const NOT_FOUND = '(quote not found in source)';

describe('links', () => {
  it('[Q-23] become numbers in the order of first use, with the list of sources', () => {
    const { report, citations, unverified } = check('Salt: [sea salt](https://e.org/salt). The [moon](https://e.org/tides#x) and [salt](HTTPS://E.org:443/salt).');
    expect(report).toBe(
      'Salt: sea salt [1]. The moon [2] and salt [1].\n\n## Sources\n\n' +
        '[1] Salt - https://e.org/salt (fetched 2026-11-30T10:00:00.000Z, sha256 abcdef123456...)\n\n' +
        '[2] Tides - https://e.org/tides (fetched 2026-11-30T10:00:00.000Z, sha256 abcdef123456...)',
    );
    expect(citations.map(({ sourceId, number }) => [sourceId, number])).toEqual([[salt.id, 1], [tides.id, 2]]);
    expect(unverified).toEqual([]);
  });

  it.each([
    ['an autolink', 'See <https://e.org/tides>.', 'See Tides [1].'],
    ['a bare address in a sentence', 'See https://e.org/tides.', 'See Tides [1].'],
    ['a bare address in parentheses', 'Tides (https://e.org/tides) rise.', 'Tides (Tides [1]) rise.'],
    ['an address as its own label', '[https://e.org/tides](https://e.org/tides)', 'Tides [1]'],
    ['a variant address', '[t](https://www.e.org/tides)', 't [1]'],
    ['a bare www address', 'On www.e.org/tides now', 'On Tides [1] now'],
    ['a local document', 'Per [guide](doc:guide/My%20File.md#install) and doc:guide/My%20File.md.', 'Per guide [1] and Guide [1].'],
    ['a link with a title', '[t](https://e.org/tides "A title")', 't [1]'],
    ['an angle target', '[t](<https://e.org/tides>)', 't [1]'],
    ['a reference', 'The [moon][m].\n\n[m]: https://e.org/tides "T"', 'The moon [1].'],
    ['a collapsed reference', 'The [moon][].\n\n[Moon]: https://e.org/tides', 'The moon [1].'],
    ['numbered references', 'High [7] and salty [3][7].\n\n[3]: https://e.org/salt\n[7]: https://e.org/tides', 'High [1] and salty [2][1].'],
    ['grouped numbers', 'Both [1, 2].\n\n[1]: https://e.org/salt\n[2]: https://e.org/tides', 'Both [1][2].'],
    ['a footnote', 'High.[^a]\n\n[^a]: Tides, https://e.org/tides.', 'High.[1]'],
    ['a parenthesis in an address', 'See [W](https://e.org/Sea_(big)), https://e.org/Sea_(big) and [1].\n\n## Sources\n[1] Sea, https://e.org/Sea_(big).', 'See W [1], Sea [1] and [1].'],
    ['a number as label', 'High [1](https://e.org/tides) [[2]](https://e.org/salt)', 'High [1] [2]'],
    ['a table row', '| a | b |\n|---|---|\n| [t](https://e.org/tides) | x |', '| a | b |\n|---|---|\n| t [1] | x |'],
  ])('%s is recognised', (_name, markdown, expected) => expect(body(markdown)).toBe(expected));

  it.each([
    ['a link', 'The [moon](https://evil.org/x?d=1).', `The moon ${MARK}.`, 'https://evil.org/x?d=1'],
    ['a bare address', 'At https://evil.org/x, there', `At \`https://evil.org/x\` ${MARK}, there`, 'https://evil.org/x'],
    ['an autolink', '<https://evil.org/x>', `\`https://evil.org/x\` ${MARK}`, 'https://evil.org/x'],
    ['a link of another scheme', '[x](javascript:alert(1))', `x ${MARK}`, 'javascript:alert(1)'],
    ['a relative link', '[x](/etc/passwd)', `x ${MARK}`, '/etc/passwd'],
    ['a reference', '[x][1a]\n\n[1a]: //evil.org', `x ${MARK}`, '//evil.org'],
    ['a number that stands for nothing', 'High [9].', 'High (9, unverified: not read in this run).', '[9]'],
    ['a page that was only found, not read', '[x](https://e.org/moon)', `x ${MARK}`, 'https://e.org/moon'],
    ['a credential address', '[x](https://u:p@e.org/tides)', `x ${MARK}`, 'https://u:p@e.org/tides'],
  ])('[Q-23] %s to anything else is marked and is no link', (_name, markdown, expected, address) => {
    const { report, citations, unverified } = check(markdown);
    expect(report).toBe(expected);
    expect(citations).toEqual([]);
    expect(unverified).toEqual([address]);
  });

  it('inside the document lose their target only', () => expect(body('[up](#top) there')).toBe('up there'));

  it('in code are left alone', () => {
    const code = '```md\n[x](https://evil.org) ![y](https://evil.org)\n```';
    expect(check(code)).toEqual({ report: code, citations: [], unverified: [] });
    expect(body('Call `list[1]` and `a<b>`.')).toBe('Call `list[1]` and `a<b>`.');
  });

  it('leave ordinary brackets, task boxes and comparisons as they are', () => {
    const plain = '- [x] done\n- [ ] open\n\nA [sic] word, 3 < 5 and a\\[b\\].';
    expect(body(plain)).toBe(plain);
  });
});

describe('the list of sources', () => {
  it("takes the place of the model's own, which explains its numbers", () => {
    const markdown = 'High [2].\n\n## References\n\n1. Nothing - https://evil.org\n2. Tides: <https://e.org/tides>\n';
    const { report, unverified } = check(markdown);
    expect(report.startsWith('High [1].\n\n## Sources\n\n[1] Tides - ')).toBe(true);
    expect(report).not.toContain('References');
    expect(unverified).toEqual(['https://evil.org']);
  });

  it('counts what only the own list of the model names', () => {
    expect(check('High.\n\n**Sources:**\n- [Tides](https://e.org/tides)').citations).toMatchObject([{ number: 1, sourceId: tides.id }]);
  });

  it('does not take a chapter that happens to be named so', () => {
    expect(body('# Sources\n\nRivers rise in springs.')).toBe('# Sources\n\nRivers rise in springs.');
  });

  it('lets no title form a link, an image or code', () => {
    const hostile = source({ url: 'https://e.org/h', title: '![x](https://evil.org/i.png) <img src=x> `c`\nhttps://evil.org' });
    expect(check('<https://e.org/h>', [hostile]).report).not.toMatch(/\]\(|https:\/\/evil|<img|`/);
  });

  it('is absent when nothing was cited', () => expect(check('Nothing.').report).toBe('Nothing.'));
});

describe('remote content', () => {
  it.each([
    ['![a](https://evil.org/?d=1)'],
    ['[![a](https://evil.org/i.png)](https://e.org/tides)'],
    ['![a][r]\n\n[r]: https://evil.org/i.png'],
    ['![r]\n\n[r]: https://evil.org/i.png'],
    ['<img src="https://evil.org/i.png">'],
    ['<IMG\nSRC=https://evil.org/i.png onerror=x>'],
    ['<svg onload=x><script>x</script>'],
    ['<a href="https://evil.org">x</a>'],
    ['![a\n2. b](https://evil.org/i.png)'],
    ['![a](//evil.org/i.png\n- b)'],
    ['para\n    ```\n![x](https://evil.org/i.png)\n'],
    ['- a\n  ```\nb ![x](https://evil.org/i.png)'],
    ['| a ` | ![x](https://evil.org/i.png) ` |'],
    ['`` ` ![x](https://evil.org/i.png) ``'],
    ['a `\n***\n![x](https://evil.org/i.png) `'],
    ['![a](<https://evil.org/i.png>)'],
    ['!\\[a](https://evil.org/i.png)'],
    ['\\![a](https://evil.org/i.png)'],
    ['![[a]](https://evil.org/i.png)'],
    ['[t](https://e.org/tides)(https://evil.org/i.png)'],
    ['[a]![b](https://e.org/i)(//evil.org/i.png)'],
    ['!![b](https://e.org/i)[a](https://evil.org/i.png)'],
  ])('%j leaves no image, no active HTML and no live address', (markdown) => {
    const report = body(markdown).replace(/`[^`]+`/g, '');
    expect(report).not.toMatch(/!\[[^\\]*\]\(|<[a-z/!]/i);
    expect(report).not.toMatch(/https?:|www\./);
  });

  it('closes a fence the model left open, so that the sources stay readable', () => {
    expect(check('[t](https://e.org/tides)\n\n```\ncode').report).toContain('```\ncode\n```\n\n## Sources');
  });
});

describe('quotes', () => {
  const cite = '[t](https://e.org/tides)';

  it('are found over line breaks, markup, links and typography, at their exact place', () => {
    const { report, citations } = check(`It says "The moon pulls the water of the oceans towards it" ${cite}.`);
    expect(report).not.toContain(NOT_FOUND);
    const quotes = citations[0]?.quotes ?? [];
    expect(quotes).toHaveLength(1);
    for (const { quote, start, end } of quotes) expect(tides.text.slice(start, end)).toBe(quote);
    expect(quotes[0]?.quote).toMatch(/^The \*moon\* pulls the water of\nthe oceans \[towards it$/);
  });

  it.each([
    ['curly marks', `“the moon pulls the water of the oceans,” ${cite}`],
    ['other dashes and apostrophes', `«That's why "high tide" comes twice a day - nearly» ${cite}`],
    ['an ellipsis', `"The moon pulls … comes twice a day" ${cite}`],
    ['a block quote with its link', `> The moon pulls the water of the oceans. [Tides](https://e.org/tides)`],
    ['a block quote with an attribution', `> The moon pulls the water\n> of the oceans towards it.\n> — ${cite}`],
    ['a block quote whose last paragraph or line is its source', `> The moon pulls the water of the oceans\n> [A long name of a source](https://e.org/tides)\n>\n> [A long name of a source](https://e.org/tides)`],
    ['a block quote below its link', `As ${cite} says:\n\n> The moon pulls the water of the oceans.`],
    ['a block quote above its link', `> The moon pulls the water of the oceans.\n\nFrom ${cite}.`],
    ['a quote as link text', `["The moon pulls the water of the oceans"](https://e.org/tides)`],
    ['one of several sources', `"35 grams of salt per litre" ${cite} [s](https://e.org/salt)`],
    ['a short quote', `"no such words" ${cite}`],
    ['a paragraph without citation', `"the moon is made of green cheese, all of it"\n\n${cite}`],
  ])('%s: nothing is marked', (_name, markdown) => expect(check(markdown).report).not.toContain(NOT_FOUND));

  it.each([
    ['changed words', `He says "the moon pushes the water of the oceans" ${cite}.`, `He says "the moon pushes the water of the oceans" ${NOT_FOUND} t [1].`],
    ['words of a source the paragraph does not cite', `“35 grams of salt per litre” ${cite}`, `“35 grams of salt per litre” ${NOT_FOUND} t [1]`],
    ['a block quote that is a link', `> [The moon is made of green cheese](https://e.org/tides)`, `> The moon is made of green cheese [1] ${NOT_FOUND}`],
    ['parts in the wrong order', `"comes twice a day … moon pulls the water" ${cite}`, `"comes twice a day … moon pulls the water" ${NOT_FOUND} t [1]`],
    ['a block quote', `> The moon is made of green cheese.\n> — ${cite}`, `> The moon is made of green cheese. ${NOT_FOUND}\n> — t [1]`],
  ])('%s: the quote is marked', (_name, markdown, expected) => {
    expect(body(markdown)).toBe(expected);
    expect(check(markdown).citations[0]?.quotes).toEqual([]);
  });

  it('are checked in every paragraph of a block quote', () => {
    const markdown = `> The moon pulls the water of the oceans.\n>\n> It is made of green cheese. ${cite}`;
    expect(body(markdown)).toBe(`> The moon pulls the water of the oceans.\n>\n> It is made of green cheese. t [1] ${NOT_FOUND}`);
  });

  it('are counted once each and checked per list item', () => {
    const { report, citations } = check(`- "35 grams of salt per litre" ${cite}\n- "35 grams of salt per litre" [s](https://e.org/salt), "35 grams of salt per litre"`);
    expect(report.split(NOT_FOUND)).toHaveLength(2);
    expect(report.indexOf(NOT_FOUND)).toBeLessThan(report.indexOf('\n'));
    expect(citations.map(({ quotes }) => quotes.length)).toEqual([0, 1]);
  });
});

describe('checkReport', () => {
  const fragments = ['[t](https://e.org/tides)', '![', '](', '[', ']', '(', ')', '`', '```\n', '\n', '\n\n', '> ', '- ', '"', '“', '”', '<', '>', 'https://evil.org/x', '<img ', 'words and more words here ', '\\', '!', '[1]', '![a](b)', '[t](https://e.org/tides)(', '|', '## Sources\n'];
  const hostile = fc.array(fc.constantFrom(...fragments), { maxLength: 30 }).map((parts) => parts.join(''));

  it('never throws, and every quote stands where it says', () => {
    fc.assert(
      fc.property(hostile, (markdown) => {
        for (const { quotes } of check(markdown).citations) {
          for (const { quote, start, end } of quotes) expect(tides.text.slice(start, end)).toBe(quote);
        }
      }),
    );
  });

  it('[Q-23] leaves no link target and no image outside code, whatever the report', () => {
    fc.assert(
      fc.property(hostile.filter((markdown) => !markdown.includes('`')), (markdown) => {
        const report = body(markdown).replace(/`[^`]*`/g, '');
        expect(report).not.toMatch(/(?<!\\)\]\(|!\[|https:\/\/|<img/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is done with a hostile report at once', () => {
    const started = performance.now();
    for (const part of ['[', '![', '](', '`', '"', '<', '> ', '[a](', '“', '\n', 'https://', '[1]', '“x” [t](https://e.org/tides) ', '(((', '<img ', '[t](https://e.org/tides)\n\n> some words of it\n\n']) check(part.repeat(10_000));
    for (const text of ['https://e.org/' + ')'.repeat(20_000), `**Sources${' '.repeat(20_000)}x`, '- '.repeat(20_000)]) check(text);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
