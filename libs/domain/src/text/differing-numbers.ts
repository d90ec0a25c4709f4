import { questionTerms, type QuestionTerm } from './question-words.ts';
import { terms } from './terms.ts';

export interface DifferingNumbers {
  /** As they stand in the left text, such as `31 metres`. */
  left: string;
  right: string;
}

/** Two statements with fewer words in common, measured against the shorter one, are about different things. */
const SHARED_WORDS_MIN = 0.3;
const QUANTITY = /(?<![\p{L}\p{N}.,])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*)(?:[ \u00a0-]?(%|\p{L}[\p{L}\p{M}]*))?/gu;
const YEAR = /^(?:1\d|20)\d{2}$/;

interface Quantity {
  value: string;
  shown: string;
}

/**
 * Numbers of one kind, by their unit or as years, that differ between two answers to the same question; null when they agree, share no
 * kind, or speak of different things. A comparison of words: it finds candidates for a contradiction and proves none.
 */
export function differingNumbers(question: string, left: string, right: string): DifferingNumbers | null {
  if (!isSameSubject(questionTerms(question), left, right)) return null;
  const [ofLeft, ofRight] = [quantities(left), quantities(right)];
  for (const [unit, here] of ofLeft) {
    const there = ofRight.get(unit);
    if (there === undefined || here.some(({ value }) => there.some((other) => other.value === value))) continue;
    return { left: here.map(({ shown }) => shown).join(', '), right: there.map(({ shown }) => shown).join(', ') };
  }
  return null;
}

/** What one text says of the question beside its names, the other must say too. */
function isSameSubject(wanted: readonly QuestionTerm[], left: string, right: string): boolean {
  const [one, other] = [new Set(terms(left)), new Set(terms(right))];
  const subjects = wanted.filter(({ isName }) => !isName);
  const isEven = subjects.every((term) => holds(one, term) === holds(other, term)) && wanted.some((term) => holds(one, term) && holds(other, term));
  const shared = [...one].filter((word) => other.has(word)).length;
  return isEven && shared / Math.max(1, Math.min(one.size, other.size)) >= SHARED_WORDS_MIN;
}

function holds(words: ReadonlySet<string>, { term, alternatives }: QuestionTerm): boolean {
  return words.has(term) || alternatives.some((other) => words.has(other));
}

/** Unit -> quantities. A bare number has no kind and is left out. */
function quantities(text: string): Map<string, Quantity[]> {
  const byUnit = new Map<string, Quantity[]>();
  for (const [shown, number = '', word] of text.matchAll(QUANTITY)) {
    const value = number.replaceAll(',', '');
    const unit = YEAR.test(number) ? 'year' : word === '%' ? word : terms(word ?? '')[0];
    if (unit === undefined) continue;
    byUnit.set(unit, [...(byUnit.get(unit) ?? []), { value, shown: unit === 'year' ? number : shown }]);
  }
  return byUnit;
}
