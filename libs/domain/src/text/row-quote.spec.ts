import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowCells, rowQuote } from './row-quote.ts';
import { terms } from './terms.ts';

const quote = (row: string, question: string, header = '| Post | Wage per year | Rest days | Duties at the light |', isAnswer = (_text: string): boolean => false): string =>
  rowQuote(row, { names: new Set(terms(question)), columns: rowCells(header).map(({ text }) => new Set(terms(text))), isAnswer });

describe('rowCells', () => {
  it.each([
    ['| a | b |', ['a', 'b']],
    ['| a || c |', ['a', '', 'c']],
    ['a | b', ['a', 'b']],
    ['| a \\| b | c |', ['a \\| b', 'c']],
  ])('reads %s', (row, wanted) => {
    expect(rowCells(row).map(({ text }) => text)).toEqual(wanted);
  });

  it('gives slices of the row', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('|', ' ', 'a', '\\', '🦊'), { maxLength: 30 }).map((parts) => parts.join('')), (row) => {
        for (const { text, start, end } of rowCells(row)) expect(row.slice(start, end)).toBe(text);
      }),
    );
  });
});

describe('rowQuote', () => {
  const row = '| Keeper | 140 crowns | 30 | trims the lamp every evening at dusk |';

  it.each([
    ['the cell with the words, when it is clear alone', 'Who trims the lamp?', 'trims the lamp every evening at dusk'],
    ['the row up to the column that is asked for', 'wage of the keeper', 'Keeper | 140 crowns'],
    ['the name of the row before a short cell', 'rest days', 'Keeper | 140 crowns | 30'],
    ['the whole row, when no cell stands out', 'anything else', row],
  ])('takes %s', (_name, question, wanted) => {
    expect(quote(row, question)).toBe(wanted);
  });

  it('takes the cell that holds what is asked for', () => {
    expect(quote(row, 'keeper', '| a | b | c | d |', (text) => text.includes('crowns'))).toBe('Keeper | 140 crowns');
  });
});
