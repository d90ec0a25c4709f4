import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findAnswers } from './find-answers.ts';

const quotes = (question: string, text: string, title = 'Notes'): string[] => findAnswers(question, [{ title, text }], 5).map(({ quote }) => quote);

describe('findAnswers', () => {
  it.each([
    ['the sentence of the asked kind', 'When was the mill built?', 'The mill was built of oak. The mill was built in 1790. Mills grind.', 'The mill was built in 1790.'],
    ['the sentence below a heading that asks it', 'How do I reset the lamp?', '# Reset the lamp\n\nHold the switch for five seconds.\n\n# Other\n\nThe lamp is new.', 'Hold the switch for five seconds.'],
    ['the answer to a question in the text', 'Who feeds the gulls?', 'Who feeds the gulls? Ada Brandt does, at noon. Nobody else.', 'Who feeds the gulls? Ada Brandt does, at noon.'],
    ['a field, with the name in the title', 'What is the capital of Orm?', 'Capital: Port Ansel\nArea: 12 km2', 'Capital: Port Ansel'],
    ['a table row, by its column', 'What is the wage of the cook?', '| Post | Wage |\n|---|---|\n| Cook | 40 |\n| Smith | 50 |', 'Cook | 40'],
    ['a sentence with the one it refers to', 'Who owns the Heron?', 'The Heron is a boat. It is owned by Bo Lund.', 'The Heron is a boat. It is owned by Bo Lund.'],
    ['other words', 'How tall is the mill?', 'The mill has a height of 20 metres. The mill is red.', 'The mill has a height of 20 metres.'],
    ['link words without addresses', 'Who runs the mill?', 'The mill is run by [Bo Lund](https://a.test/b) today.', 'The mill is run by Bo Lund today.'],
    ['a script without spaces', '灯塔有多高？', '面包很好吃。灯塔高三十一米。', '灯塔高三十一米。'],
    ['the piece beside an image', 'Who runs the mill?', 'Bo Lund runs the mill ![x](https://a.test/b.png) here.', 'Bo Lund runs the mill'],
  ])('quotes %s', (_name, question, text, wanted) => {
    expect(quotes(question, text, 'Orm')[0]).toBe(wanted);
  });

  it.each([
    ['another subject', 'Who won the tennis final?', 'The mill was built in 1790.'],
    ['one shared word', 'What is the capital of Norway?', 'The capital is Port Ansel.'],
    ['another subject without spaces', '图书馆几点开门？', '面包很好吃。灯塔高三十一米。'],
    ['a table of contents', 'Where is the mill?', '- [The mill](#the-mill)'],
    ['no document', 'Where is the mill?', ''],
    ['no question', '🦊', 'The mill.'],
  ])('finds nothing for %s', (_name, question, text) => {
    expect(quotes(question, text)).toEqual([]);
  });

  it('takes at most three sentences of one document and names the document', () => {
    const text = Array.from({ length: 9 }, (_, index) => `The mill grinds rye number ${index}.`).join(' ');
    const found = findAnswers('What does the mill grind?', [{ title: 'A', text }, { title: 'B', text: 'The mill grinds barley.' }], 9);
    expect(found.filter(({ document }) => document === 0)).toHaveLength(3);
    expect(found.filter(({ document }) => document === 1)).toHaveLength(1);
  });

  it('quotes only words of the document, without links, tags and addresses, whatever stands there', () => {
    const piece = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constantFrom('mill ', 'grinds ', '. ', '\n\n', '[', ']', '](x)', '![', '<b>', '<img src=x>', '| ', '# ', 'http://a.test/', '[1]', '`', '"'));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = `The mill ${pieces.join('')}`;
        for (const { quote, coverage } of findAnswers('What does the mill grind?', [{ title: 'Mill', text }], 5)) {
          expect(quote).not.toMatch(/[[\]\n]|https?:\/\/|<[a-z]/);
          expect(coverage).toBeGreaterThanOrEqual(0.5);
          for (const word of quote.split(' ')) expect(text.replace(/[[\]]/g, '')).toContain(word);
        }
      }),
      { numRuns: 300 },
    );
  });
});
