/**
 * Deterministic pseudo-English: 4,000 words drawn with a Zipf law, so that texts compress, index and tokenise about as real ones do. ASCII
 * only. The same seed gives the same text on every machine.
 */
const VOCABULARY_SIZE = 4_000;
const COMMON_WORDS = 'the of and to in a is that for it as was with be by on not from at which this have or an are but had they one'.split(' ');
const ONSETS = 'b c d f g h k l m n p r s t v w st tr pl gr ch sh'.split(' ');
const VOWELS = 'a e i o u ea ou io ai'.split(' ');
const CODAS = ['', '', '', 'n', 'r', 'l', 's', 't', 'nd', 'rk'];

/** A small generator (xorshift) of numbers in [0, 1). */
export function randomSource(seed: number): () => number {
  let state = (Math.imul(seed ^ 0x5bd1e995, 0x27d4eb2d) | 1) >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
}

const pickFrom = <Item>(items: readonly Item[], random: () => number): Item => items[Math.floor(random() * items.length)]!;

function syllables(count: number, random: () => number): string {
  let word = '';
  for (let i = 0; i < count; i++) word += pickFrom(ONSETS, random) + pickFrom(VOWELS, random);
  return word + pickFrom(CODAS, random);
}

function buildVocabulary(): string[] {
  const random = randomSource(7);
  const words = new Set(COMMON_WORDS);
  // rarer words are longer, as in real languages
  while (words.size < VOCABULARY_SIZE) words.add(syllables(1 + Math.floor(random() * (words.size > 400 ? 3 : 2)), random));
  return [...words];
}

const VOCABULARY = buildVocabulary();
const LOG_SIZE = Math.log(VOCABULARY_SIZE + 1);

/** Word of rank r is drawn with a chance of about 1/r: the exponential of a uniform number is Zipf-distributed. */
const drawWord = (random: () => number): string => VOCABULARY[Math.min(VOCABULARY_SIZE, Math.floor(Math.exp(random() * LOG_SIZE))) - 1]!;

/** `count` words joined by single spaces. */
export function words(count: number, seed: number): string {
  const random = randomSource(seed);
  const drawn: string[] = [];
  for (let i = 0; i < count; i++) drawn.push(drawWord(random));
  return drawn.join(' ');
}

/** `count` words as sentences of 8 to 20 words, each with a capital and a full stop. */
export function sentences(count: number, seed: number): string {
  const random = randomSource(seed);
  const made: string[] = [];
  let left = count;
  while (left > 0) {
    const length = Math.min(left, 8 + Math.floor(random() * 13));
    const drawn: string[] = [];
    for (let i = 0; i < length; i++) drawn.push(drawWord(random));
    const sentence = drawn.join(' ');
    made.push(`${sentence[0]!.toUpperCase()}${sentence.slice(1)}.`);
    left -= length;
  }
  return made.join(' ');
}
