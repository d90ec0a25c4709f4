import { stemmer } from 'stemmer';

/** Words that say nothing about a subject. Question words are among them: the shape of a question is judged elsewhere. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about all also am an and any are as at be been being both but by can could did do does doing each either for from had has have ' +
    'having he her here hers him his how i if in into is it its itself just me my no nor not of on onto or other our ours out over she ' +
    'should so some such than that the their theirs them then there these they this those through to too under until up upon very was we ' +
    'were what when where whether which while who whom whose why will with within would you your yours dont doesnt didnt isnt arent wasnt cant'
  ).split(' '),
);

const TOKEN = /[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}]+|[.,]\p{Nd}+)*/gu;
const UNSPACED_RUN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々]+/gu;
const BEYOND_LATIN = /[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u{3ffff}]/u;
const THOUSANDS = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;
const VERSION = /^v(\d+(?:\.\d+)*)$/;

/** Stems repeat far more often than they are new; the cache is emptied when it holds this many, which bounds its memory. */
const STEM_CACHE_MAX = 20_000;
const stemCache = new Map<string, string>();

/**
 * Search terms of a text, in reading order with repeats: NFKC, lower case, split into words, stop words left out, Porter stems for Latin
 * words. Scripts without spaces become overlapping pairs of characters. `1,200` is `1200`, `v3.4` is `3.4`, `O'Neil's` is `oneil`.
 * Works on any text; a text of symbols alone has no terms.
 */
export function terms(text: string): string[] {
  const found: string[] = [];
  for (const [token] of text.normalize('NFKC').toLowerCase().matchAll(TOKEN)) addToken(found, token);
  return found;
}

/** Term -> occurrences, after the same rules as `terms`. The sum of the values is the length BM25 uses. */
export function termCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms(text)) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

/** True for a term of a script without spaces: a pair of characters, which often spans two words. */
export function isCharacterPair(term: string): boolean {
  return BEYOND_LATIN.test(term);
}

function addToken(found: string[], token: string): void {
  if (BEYOND_LATIN.test(token)) {
    addUnspaced(found, token);
    return;
  }
  if (THOUSANDS.test(token)) {
    found.push(token.replaceAll(',', ''));
    return;
  }
  for (const part of token.split(',')) addWord(found, part);
}

function addWord(found: string[], word: string): void {
  const plain = word.replace(/['’]s$/, '').replace(/['’]/g, '');
  const version = VERSION.exec(plain);
  if (version?.[1] !== undefined) found.push(version[1]);
  else if (plain !== '' && !STOP_WORDS.has(plain)) found.push(stem(plain));
}

/** A token such as `redis服务器` holds both kinds of script: each stretch is handled by its own rule. */
function addUnspaced(found: string[], token: string): void {
  let end = 0;
  for (const run of token.matchAll(UNSPACED_RUN)) {
    if (run.index > end) addWord(found, token.slice(end, run.index));
    addPairs(found, run[0]);
    end = run.index + run[0].length;
  }
  if (end < token.length) addWord(found, token.slice(end));
}

function addPairs(found: string[], run: string): void {
  const characters = Array.from(run);
  if (characters.length === 1) found.push(run);
  for (let at = 0; at + 1 < characters.length; at += 1) found.push(`${characters[at]}${characters[at + 1]}`);
}

function stem(word: string): string {
  const cached = stemCache.get(word);
  if (cached !== undefined) return cached;
  if (stemCache.size >= STEM_CACHE_MAX) stemCache.clear();
  // The longest real English words stay far below this; longer ones are data, and the stemmer's patterns are not made for them.
  const stemmed = word.length <= 40 && /^[a-z]+$/.test(word) ? stemmer(word) : word;
  stemCache.set(word, stemmed);
  return stemmed;
}
