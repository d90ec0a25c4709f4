import { describe, expect, it } from 'vitest';
import { selectAnswers, type ScoredAnswer } from './select-answers.ts';

const answer = (quote: string, more: Partial<ScoredAnswer> = {}): ScoredAnswer => ({ document: 0, quote, score: 10, coverage: 1, held: ['kiln'], ...more });
const selected = (...answers: ScoredAnswer[]): string[] => selectAnswers(answers, 5).map(({ quote }) => quote);

describe('selectAnswers', () => {
  it.each([
    ['an equal one', { score: 8 }, true],
    ['one of equal score that holds less of the question', { score: 9, coverage: 0.9 }, false],
    ['a weaker one that adds a word of the question', { score: 7, held: ['kiln', 'heat'] }, true],
    ['a weaker one of another document', { score: 7, document: 1 }, true],
    ['a weaker one that adds nothing', { score: 7 }, false],
    ['a far weaker one, whatever it adds', { score: 6, held: ['heat'], document: 1 }, false],
    ['one that holds much less of the question', { score: 9, coverage: 0.7, held: ['heat'] }, false],
  ])('%s after the best', (_name, more, isKept) => {
    expect(selected(answer('best'), answer('further', more))).toEqual(isKept ? ['best', 'further'] : ['best']);
  });

  it('leaves out repeats of one document, and keeps a second witness', () => {
    expect(selected(answer('the kiln is hot'), answer('kiln is hot'), answer('kiln is hot', { document: 1 }))).toEqual(['the kiln is hot', 'kiln is hot']);
  });

  it('stops at the bound', () => {
    expect(selectAnswers([answer('a'), answer('b'), answer('c')], 2)).toHaveLength(2);
  });
});
