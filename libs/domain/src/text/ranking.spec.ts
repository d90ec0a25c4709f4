import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bm25TermScore, inverseDocumentFrequency, rankPassages } from './bm25.ts';
import { termCounts, terms } from './terms.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 200 });

describe('terms', () => {
  it.each([
    ['stems', 'Installing installed INSTALLS', ['instal', 'instal', 'instal']],
    ['stop words', 'What is the capital of it?', ['capit']],
    ['numbers', '1,200 items, 1,2 and 3.4', ['1200', 'item', '1', '2', '3.4']],
    ['versions', 'v3.4.1 or V2', ['3.4.1', '2']],
    ['possessives', "Orm's O’Neil", ['orm', 'oneil']],
    ['width', 'ＡＢＣ', ['abc']],
    ['unspaced scripts', 'redis服务器', ['redi', '服务', '务器']],
    ['one character', '水', ['水']],
    ['emoji', '🦊🔥', []],
  ])('handles %s', (_name, text, wanted) => {
    expect(terms(text)).toEqual(wanted);
  });

  it('counts exactly the terms it lists, the same each time', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const listed = terms(text);
        expect(terms(text)).toEqual(listed);
        expect([...termCounts(text).values()].reduce((sum, count) => sum + count, 0)).toBe(listed.length);
        expect(listed.every((term) => term !== '')).toBe(true);
      }),
    );
  });
});

describe('bm25', () => {
  const corpus = { documents: 100, averageLength: 50 };

  it('grows with occurrences and rarity, shrinks with length', () => {
    const score = (occurrences: number, length: number, documentFrequency: number): number =>
      bm25TermScore({ occurrences, length, documentFrequency }, corpus);
    expect(score(2, 50, 10)).toBeGreaterThan(score(1, 50, 10));
    expect(score(1, 50, 5)).toBeGreaterThan(score(1, 50, 10));
    expect(score(1, 25, 10)).toBeGreaterThan(score(1, 50, 10));
    expect(score(0, 50, 10)).toBe(0);
  });

  it('gives the published value for a plain case', () => {
    // One occurrence at average length: the frequency factor is 1, so the score is the rarity alone.
    expect(bm25TermScore({ occurrences: 1, length: 50, documentFrequency: 10 }, corpus)).toBeCloseTo(Math.log(1 + 90.5 / 10.5), 10);
    expect(inverseDocumentFrequency(100, 100)).toBeGreaterThan(0);
  });

  it('ranks best first, leaves out what shares no term, keeps order on ties', () => {
    const passages = ['the quay is long', 'lamp oil', 'the lamp of the lamp keeper', 'lamp oil'];
    expect(rankPassages('Lamps', passages).map(({ index }) => index)).toEqual([2, 1, 3]);
    expect(rankPassages('the of', passages)).toEqual([]);
    expect(rankPassages('lamp', [])).toEqual([]);
  });

  it('is sorted and holds only positive finite scores for any input', () => {
    fc.assert(
      fc.property(anyText, fc.array(anyText, { maxLength: 12 }), (query, passages) => {
        const ranked = rankPassages(query, passages);
        ranked.forEach(({ index, score }, at) => {
          expect(score > 0 && Number.isFinite(score)).toBe(true);
          const previous = ranked[at - 1];
          if (previous !== undefined) expect(previous.score > score || (previous.score === score && previous.index < index)).toBe(true);
        });
      }),
    );
  });
});
