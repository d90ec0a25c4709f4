import { terms } from './terms.ts';

/** Words that ask for an answer but say nothing about its subject. */
const REQUEST_WORDS = new Set(terms('tell explain describe list give show find task name say said says know document documents according please much many long detail compare difference happen'));

/** Words for one thing, so that a question and an answer may use different ones. Small on purpose: a wrong pair costs more than it finds. */
const SAME_MEANING = [
  'tall high height', 'long length duration last', 'old age', 'far distance', 'heavy weight weigh', 'big large size', 'deep depth', 'wide width',
  'fast speed', 'cost price fee', 'begin start commence', 'end finish stop', 'build built construct erect', 'found founded establish',
  'open opened inaugurate', 'make create produce', 'buy purchase', 'begin began', 'lead leader head chief', 'delete remove erase', 'error failure fault',
  'set configure configuration setting', 'run execute', 'live inhabitant population', 'die death died', 'born birth', 'write wrote author written',
  'invent invented inventor', 'allow permit', 'require need', 'change modify', 'limit maximum', 'least minimum', 'default initially', 'repair fix', 'renew extend prolong',
];

const SPELLINGS = spellings();
const ALTERNATIVES = new Map([...SPELLINGS].map(([term, words]) => [term, [...new Set(words.flatMap((word) => terms(word)))]]));

/** One thing a question names. */
export interface QuestionTerm {
  term: string;
  /** Terms with the same meaning, without `term` itself. */
  alternatives: readonly string[];
  /** A name, number or version: an answer that lacks it is hardly about this question. */
  isName: boolean;
}

/** The distinct subject terms of a question in order; request words count only when nothing else is there. */
export function questionTerms(question: string): QuestionTerm[] {
  const all = [...new Set(terms(question))];
  const subjects = all.filter((term) => !REQUEST_WORDS.has(term));
  const names = new Set(nameTerms(question));
  return (subjects.length === 0 ? all : subjects).map((term) => ({
    term,
    alternatives: ALTERNATIVES.get(term) ?? [],
    isName: names.has(term) || /^\d/.test(term),
  }));
}

/** Names in a question: runs of capitalised words that do not open a sentence, and quoted phrases. In order, without repeats. */
export function namesIn(question: string): string[] {
  const quoted = [...question.matchAll(/["“]([^"”\n]{2,80})["”]/gu)].map((match) => ({ at: match.index, name: match[1] ?? '' }));
  const capitalised = [...question.matchAll(/(?<=[\p{Ll}\p{N},;:(]\s+)\p{Lu}(?:[\p{L}\p{N}'’-]|\.(?=[\p{L}\p{N}]))*(?:\s(?:of\s(?:the\s)?)?[\p{Lu}\p{N}](?:[\p{L}\p{N}'’-]|\.(?=[\p{L}\p{N}]))*){0,5}/gu)];
  const found = [...quoted, ...capitalised.map((match) => ({ at: match.index, name: match[0].replace(/[.'’-]+$/, '') }))];
  return [...new Set(found.sort((left, right) => left.at - right.at).map(({ name }) => name.trim()))].filter((name) => terms(name).length > 0);
}

/** Words to send to a search engine, as they were written; at most `charsMax` characters. */
export function searchWords(question: string, charsMax: number): string {
  const wanted = new Set(questionTerms(question).map(({ term }) => term));
  return joinWithin(question.match(/[\p{L}\p{M}\p{N}.'’-]+/gu) ?? [], wanted, charsMax);
}

/** The same question in other words: its names and the alternatives of the rest. Empty when there are no other words. */
export function otherWords(question: string): string[] {
  const found = questionTerms(question);
  const names = namesIn(question);
  const spelled = found.flatMap(({ term }) => SPELLINGS.get(term) ?? []);
  if (spelled.length > 0) return [...new Set([...names, ...spelled])];
  return terms(names.join(' ')).length < found.length ? names : [];
}

function joinWithin(words: readonly string[], wanted: ReadonlySet<string>, charsMax: number): string {
  const seen = new Set<string>();
  let joined = '';
  for (const word of words) {
    const trimmed = word.replace(/^[.'’-]+|[.'’-]+$/g, '');
    const fresh = terms(trimmed).filter((term) => wanted.has(term) && !seen.has(term));
    if (fresh.length === 0) continue;
    if (joined.length + trimmed.length + 1 > charsMax) break;
    joined = joined === '' ? trimmed : `${joined} ${trimmed}`;
    for (const term of fresh) seen.add(term);
  }
  return joined;
}

function nameTerms(question: string): string[] {
  return namesIn(question).flatMap((name) => terms(name));
}

/** Term -> the other words of its groups, as they are written. */
function spellings(): Map<string, string[]> {
  const spelled = new Map<string, string[]>();
  for (const words of SAME_MEANING.map((group) => group.split(' '))) {
    for (const term of new Set(words.flatMap((word) => terms(word)))) {
      const others = words.filter((word) => !terms(word).includes(term));
      spelled.set(term, [...new Set([...(spelled.get(term) ?? []), ...others])]);
    }
  }
  return spelled;
}
