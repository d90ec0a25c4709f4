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

  const KILN = 'The kiln fires clay. A firing lasts eleven hours and is watched by one potter. The last potter closes the kiln. A firing of the kiln is loud.';

  it.each([
    ['how long, by a number with a unit of time', 'How long does a firing last?', KILN, ['A firing lasts eleven hours and is watched by one potter.']],
    ['how long, without the word that asks', 'How long does a firing of the kiln last?', 'A firing of the kiln needs 11 hours. A last firing of the kiln is loud.', ['A firing of the kiln needs 11 hours.']],
    ['a price, by a number beside a word for paying', 'What does a firing cost?', 'Firing is a cost of the workshop. A firing costs the guest 40.', ['A firing costs the guest 40.']],
    ['a quantity without a number, when the sentence holds the question', 'How long does the glaze dry?', 'The glaze must dry until it is dull.', ['The glaze must dry until it is dull.']],
    ['nothing for a quantity of something that is only named', 'How long is the kiln?', '# The kiln\n\nThe kiln was built by Bo Lund.', []],
    ['a quantity without a number below a heading that asks for it', 'How long does the glaze dry?', '# How long does the glaze dry?\n\nUntil the potter finds it dull.', ['Until the potter finds it dull.']],
    ['nothing for a quantity that only shares a word', 'How long does a firing last?', 'The last potter closes the kiln. The potter likes a firing | the last.', []],
  ])('quotes %s', (_name, question, text, wanted) => {
    expect(quotes(question, text)).toEqual(wanted);
  });

  it('takes prose before a table row that says the same', () => {
    const table = '| Step | Who does it |\n|---|---|\n| glazing | the potter does the glazing |';
    expect(quotes('Who does the glazing?', `${table}\n\nThe potter does the glazing here.`)[0]).toBe('The potter does the glazing here.');
  });

  it('takes words before code that holds the same words', () => {
    expect(quotes('Where is the kiln log?', '`kiln log where`\n\nThe kiln log is on the shelf.')[0]).toBe('The kiln log is on the shelf.');
  });

  it('quotes only the cells of a row that answer', () => {
    const table = '| no. | rule | where | seen by |\n|---|---|---|---|\n| 7 | The kiln is never opened above sixty degrees. | east wing | `door.ts` |';
    expect(quotes('When may the kiln be opened?', table)).toEqual(['The kiln is never opened above sixty degrees.']);
  });

  it('answers with what a bold heading within a paragraph introduces', () => {
    const text = '**The kiln is cold.** Light the pilot flame and wait.\n\n**The kiln is cracked.** Call the mason.';
    expect(quotes('What happens when the kiln is cracked?', text)[0]).toBe('**The kiln is cracked.** Call the mason.');
  });

  it('takes no sentence for an answer because its title names the subject', () => {
    const text = '# Visitors\n\nThey may stay for three hours.';
    expect(findAnswers('How long is the kiln?', [{ title: 'The kiln', text }], 5)).toEqual([]);
  });

  it('leaves no half of a code mark where something was cut', () => {
    expect(quotes('Which name does the kiln log use?', 'The kiln log uses the name `<kiln>`')).toEqual(['The kiln log uses the name']);
  });

  it('does not add a weaker sentence that says nothing new of the question', () => {
    const text = 'Ada Brandt glazes the bowls. In the long and rainy autumn of that year the bowls were kept by someone at the back of a shed.';
    expect(quotes('Who glazes the bowls?', text)).toEqual(['Ada Brandt glazes the bowls.']);
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
        // a link leaves its words behind, and nothing of its target
        const shown = [text.replace(/[[\]]/g, ''), text.replace(/\]\(x\)|[[\]]/g, '')];
        for (const { quote, coverage } of findAnswers('What does the mill grind?', [{ title: 'Mill', text }], 5)) {
          expect(quote).not.toMatch(/[[\]\n]|https?:\/\/|<[a-z]/);
          expect(coverage).toBeGreaterThanOrEqual(0.5);
          for (const word of quote.split(' ')) expect(shown.some((form) => form.includes(word)), word).toBe(true);
        }
      }),
      { numRuns: 300, examples: [[['"', '[', '](x)', 'grinds ']]] },
    );
  });
});
