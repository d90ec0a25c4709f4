import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerShape, hasShape } from './answer-shape.ts';
import { differingNumbers } from './differing-numbers.ts';
import { namesIn, otherWords, searchWords } from './question-words.ts';
import { splitQuestion } from './split-question.ts';
import { terms } from './terms.ts';

describe('splitQuestion', () => {
  it.each([
    ['a simple question', 'How tall is the lighthouse?', ['How tall is the lighthouse?']],
    ['joined questions', 'Who built the Skerry Light and when was it opened?', ['Who built the Skerry Light', 'When was it opened (Skerry Light)?']],
    ['several question marks', 'What is the default port? How do I change it?', ['What is the default port?', 'How do I change it (default port)?']],
    ['names', 'What is the capital of Norway, Sweden and Denmark?', ['What is the capital of Norway?', 'What is the capital of Sweden?', 'What is the capital of Denmark?']],
    ['properties', 'What are the height and age of the tower?', ['What are the height of the tower?', 'What are age of the tower?']],
    ['a comparison', 'Compare Skerry Light and Orm Station', ['Skerry Light', 'Orm Station']],
    ['a list', 'Find out:\n1. who paid\n2. where the tower stands', ['Who paid', 'Where the tower stands']],
    ['a relation of two', 'What is the distance between Oslo and Bergen?', ['What is the distance between Oslo and Bergen?']],
    ['one thing with another', 'How do I use Redis with Fastify?', ['How do I use Redis with Fastify?']],
    ['a relative clause', 'Who designed the tower, which stands on the reef?', ['Who designed the tower, which stands on the reef?']],
    ['a chain of questions', 'Who built Skerry Light, when was it opened, and how tall is it?', ['Who built Skerry Light', 'When was it opened (Skerry Light)?', 'How tall is it (Skerry Light)?']],
    ['context before the question', 'We moved to Orm. Who paid the rent?', ['Who paid the rent?']],
    ['CJK', '灯塔有多高？谁建造了它？', ['灯塔有多高？', '谁建造了它？']],
    ['no words', '🦊 ???', []],
  ])('handles %s', (_name, question, wanted) => {
    expect(splitQuestion(question, 4)).toEqual(wanted);
  });

  it('keeps everything when there are more parts than allowed', () => {
    const parts = splitQuestion('Who is Ann Lee? Who is Bob Roy? Who is Cid Poe? Who is Dan Fox?', 2);
    expect(parts).toHaveLength(2);
    for (const name of ['Ann', 'Bob', 'Cid', 'Dan']) expect(parts.join(' ')).toContain(name);
  });

  it('gives between one and the allowed number of parts for anything that has a word', () => {
    const text = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(' and ', ', ', 'who ', 'The A', 'Bob', '?', '\n- ', ' of ', ' the ')), { maxLength: 30 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 8 }), (pieces, partsMax) => {
        const question = pieces.join('');
        const parts = splitQuestion(question, partsMax);
        expect(parts.length).toBeLessThanOrEqual(partsMax);
        expect(parts.length > 0).toBe(terms(question).length > 0);
      }),
    );
  });

  it.each(['x '.repeat(10_000), 'A, '.repeat(7_000), 'the a and '.repeat(2_000), 'A and '.repeat(3_000), '?'.repeat(20_000)])('stays fast on long questions (%#)', (question) => {
    const before = performance.now();
    splitQuestion(question, 4);
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

describe('words of a question', () => {
  it('finds names, but not the first word of a sentence', () => {
    expect(namesIn('Does Marit Holloway know "grey granite"? Where is Orm Station 4?')).toEqual(['Marit Holloway', 'grey granite', 'Orm Station 4']);
  });

  it('sends subject words as they are written, each once, within the bound', () => {
    expect(searchWords('Please tell me what the height of the Tower is, the tower height!', 100)).toBe('height Tower');
    expect(searchWords('alpha beta gamma', 11)).toBe('alpha beta');
  });

  it('knows other words for a few things', () => {
    expect(otherWords('How tall is Skerry Light?')).toEqual(['Skerry Light', 'high', 'height']);
    expect(otherWords('granite')).toEqual([]);
  });
});

describe('shape of an answer', () => {
  it.each([
    ['Who designed it?', 'person', 'It was designed by Marit Holloway.', 'It was designed abroad.'],
    ['When was it lit?', 'date', 'First lit in 1871.', 'It was lit by oil.'],
    ['Where does it stand?', 'place', 'It stands near Port Ansel.', 'It stands on its own.'],
    ['How many keepers?', 'number', 'Three keepers.', 'Keepers lived there.'],
    ['Which version added it?', 'version', 'Added in v2.1.', 'Added last year.'],
    ['What percentage voted?', 'share', '40 % voted.', 'Many voted.'],
    ['How much did it cost?', 'money', 'It cost 300 crowns.', 'It cost too much.'],
    ['How long does it burn?', 'length', 'It burns for nine hours.', 'It burns once a day, on the second try.'],
    ['How long is it?', 'length', 'It has 31 metres.', 'It has 31 keepers.'],
    ['What does a page cost?', 'money', 'A page costs 2.', 'The price: see page 2.'],
    ['Why was it closed?', 'reason', 'Closed because of rot.', 'It was closed.'],
    ['What is encapsulation?', 'definition', 'Encapsulation is a way to hide state.', 'Encapsulation helps.'],
  ])('%s asks for a %s', (question, shape, held, missing) => {
    expect(answerShape(question)).toBe(shape);
    expect(hasShape(answerShape(question), held, question)).toBe(true);
    expect(hasShape(answerShape(question), missing, question)).toBe(false);
  });

  it('takes "what happens when" for no question about a date', () => {
    expect(answerShape('What happens when the lamp goes out?')).toBe('any');
    expect(answerShape('In which case, and when, was it lit?')).toBe('any');
    expect(answerShape('Since when is it lit?')).toBe('date');
  });

  it('does not take what the question says for an answer', () => {
    expect(hasShape('date', 'In 1871 it burned.', 'What happened in 1871?')).toBe(false);
  });
});

describe('differingNumbers', () => {
  const question = 'How high is the tower of Skerry Light?';

  it.each([
    ['another value with the same unit', 'The tower is 31 metres high.', 'The tower of the light is 34 metres high.', { left: '31 metres', right: '34 metres' }],
    ['the same value in another spelling', 'The tower is 1,031 metres high.', 'The tower is 1031 metres high.', null],
    ['other units', 'The tower is 31 metres high.', 'The tower is 101 feet high.', null],
    ['other subjects', 'The tower is 31 metres high.', 'The tower had 3 keepers.', null],
    ['no numbers', 'The tower is high.', 'The tower is 31 metres high.', null],
  ])('%s', (_name, left, right, wanted) => {
    expect(differingNumbers(question, left, right)).toEqual(wanted);
  });

  it('compares years', () => {
    expect(differingNumbers('When was the light first lit?', 'The light was first lit in 1871.', 'First lit in 1872, the light burns.')).toEqual({ left: '1871', right: '1872' });
    expect(differingNumbers('When was the light first lit?', 'The light was first lit in 1871.', 'The light was closed in 1988.')).toBeNull();
  });
});
