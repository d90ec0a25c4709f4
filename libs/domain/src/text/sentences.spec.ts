import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sentences } from './sentences.ts';

const texts = (markdown: string): string[] => sentences(markdown).map((sentence) => sentence.text);
const markdown = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\n', '\n\n', '# ', '- ', '> ', '| a |', '```', '. ', 'Dr. ', '1. ', '🦊', '\ud800')), { maxLength: 40 }).map((parts) => parts.join(''));

describe('sentences', () => {
  it.each([
    ['abbreviations and initials', 'Dr. A. B. Lund left. She is e.g. here.', ['Dr. A. B. Lund left.', 'She is e.g. here.']],
    ['a number after its abbreviation', 'See No. 5 now. No. It ends.', ['See No. 5 now.', 'No.', 'It ends.']],
    ['decimals and versions', 'Use 3.4.1 now. It costs 2.5 coins.', ['Use 3.4.1 now.', 'It costs 2.5 coins.']],
    ['wrapped lines', 'It was\nwrapped. Yes.', ['It was\nwrapped.', 'Yes.']],
    ['emphasis after the stop', 'It is **done.** Next one.', ['It is **done.**', 'Next one.']],
    ['headings', '# Title #\ntext here', ['Title', 'text here']],
    ['underlined headings', 'Title\n=====\ntext here', ['Title', 'text here']],
    ['list items', '- one. Two.\n- [x] three\n2) four', ['one.', 'Two.', 'three', 'four']],
    ['tables', '| a | b |\n|---|:-:|\n| 1. x | 2 |', ['| a | b |', '| 1. x | 2 |']],
    ['code fences', '```sh\nnpm ci\n\n# note\n```\nafter', ['npm ci', '# note', 'after']],
    ['field lines', 'Capital: Orm\nArea: 12 km2', ['Capital: Orm', 'Area: 12 km2']],
    ['blank lines', 'no stop\n\nnext', ['no stop', 'next']],
    ['nothing to say', '🦊🦊 !!!\n\n---\n', []],
  ])('handles %s', (_name, given, wanted) => {
    expect(texts(given)).toEqual(wanted);
  });

  it('indexes into the given text, in order, without overlap and without a blank line inside', () => {
    fc.assert(
      fc.property(markdown, (text) => {
        let before = 0;
        for (const { text: sentence, start, end } of sentences(text)) {
          expect(text.slice(start, end)).toBe(sentence);
          expect(start).toBeGreaterThanOrEqual(before);
          expect(sentence).not.toMatch(/\n[ \t]*\n/);
          expect(sentence.trim()).toBe(sentence);
          before = end;
        }
      }),
    );
  });

  it.each(['# a' + ' '.repeat(200_000) + 'x', '-'.repeat(200_000) + 'x', '> '.repeat(100_000), '(a.'.repeat(60_000), '| - '.repeat(60_000)])(
    'stays linear on hostile lines (%#)',
    (line) => {
      const before = performance.now();
      sentences(line);
      expect(performance.now() - before).toBeLessThan(2_000);
    },
  );
});
