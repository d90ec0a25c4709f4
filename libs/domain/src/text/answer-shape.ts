import { terms } from './terms.ts';

/** What kind of thing a question asks for, read from its wording. */
export type AnswerShape = 'person' | 'date' | 'place' | 'number' | 'length' | 'version' | 'share' | 'money' | 'reason' | 'definition' | 'any';

const NUMBERS = 'one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|hundred|thousand|million|billion|dozen';
const NUMBER_WORD = new RegExp(String.raw`\b(?:${NUMBERS}|none|twice)\b`, 'i');
const UNITS =
  'milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|h|days?|nights?|weeks?|months?|years?|decades?|century|centuries|' +
  'millimet(?:re|er)s?|mm|centimet(?:re|er)s?|cm|met(?:re|er)s?|m|kilomet(?:re|er)s?|km|inch(?:es)?|foot|feet|ft|yards?|miles?';
/** `once a day` is a rate and `a second try` an ordinal; neither says how long. */
const LENGTH = new RegExp(String.raw`(?<!\b(?:once|twice|times|every)\s)(?:\d[\d.,]*|\b(?:${NUMBERS})|\ban?(?!\sseconds?\b))[\s\u00a0-]?(?:${UNITS})\b`, 'gi');
const AMOUNT_OF_MONEY = /[$€£¥]\s*\d[\d.,]*|\d[\d.,]*\s*(?:\p{L}+\s)?(?:dollars?|euros?|pounds?|cents?|crowns?|coins?|credits?|marks?|USD|EUR|GBP)\b/giu;
/** A number close behind a word for paying is a price, whatever its currency is called. */
const PRICED = /(?<=\b(?:costs?|prices?|priced|fees?|fares?|pays?|paid|charges?|charged)\b[^.;:\d]{0,30})\d[\d.,]*/gi;

const ASKS: readonly [AnswerShape, RegExp][] = [
  ['version', /\b(?:which|what)\b[^?]{0,40}\b(?:version|release)\b/i],
  ['share', /\b(?:what|which)\s+(?:percentage|percent|share|proportion|fraction)\b/i],
  ['money', /\bhow\s+much\b[^?]{0,60}\b(?:cost|costs|pay|paid|charge|price)\b|\bwhat\b[^?]{0,40}\b(?:price|cost|fee|fare|salary)\b/i],
  ['length', /\bhow\s+long\b/i],
  ['number', /\bhow\s+(?:many|much|tall|high|far|old|big|large|deep|wide|heavy|fast|often)\b|\bwhat\b[^?]{0,40}\b(?:number|height|length|width|weight|depth|speed|size|area|population|age|distance|limit|maximum|minimum|port|temperature|timeout)\b/i],
  ['date', /^(?:(?!\b(?:what|which|who|how|why|where)\b).)*\bwhen\b|\b(?:what|which|in\s+what)\s+(?:year|date|day|month|century|decade|time)\b|\bsince\s+when\b/i],
  ['person', /\bwho(?:m|se)?\b|\b(?:what|which)\s+(?:person|author|inventor|engineer|architect|president|king|queen)\b/i],
  ['place', /\bwhere\b|\b(?:what|which)\s+(?:city|country|town|place|island|region|state|continent|location)\b/i],
  ['reason', /\bwhy\b|\bwhat\b[^?]{0,20}\b(?:reason|cause|causes|caused)\b/i],
  ['definition', /^\s*what\s+(?:is|are|does)\s+(?:an?\s+|the\s+)?[\p{L}\p{N}'’.-]+(?:\s+[\p{L}\p{N}'’.-]+)?\s*\??\s*$/iu],
];

/** The first kind whose wording the question has; `any` when it asks in no known way. */
export function answerShape(question: string): AnswerShape {
  return ASKS.find(([, pattern]) => pattern.test(question))?.[0] ?? 'any';
}

const QUANTITIES: ReadonlySet<AnswerShape> = new Set(['number', 'length', 'share', 'money']);
const FILLED_WORDS: Partial<Record<AnswerShape, ReadonlySet<string>>> = {
  length: new Set(terms('last lasts take takes stay length duration')),
  money: new Set(terms('cost price fee fare pay paid charge')),
};

/** A question for a quantity: a text without a number can hardly answer it. */
export function asksQuantity(shape: AnswerShape): boolean {
  return QUANTITIES.has(shape);
}

/** Terms that only ask for that kind: `3 seconds` says how long something lasts without the word, and `the last one` has the word alone. */
export function filledTerms(shape: AnswerShape): ReadonlySet<string> {
  return FILLED_WORDS[shape] ?? new Set();
}

/** True when the text holds something of that kind that the question did not already say. */
export function hasShape(shape: AnswerShape, text: string, question: string): boolean {
  const isNew = (pattern: RegExp): boolean => (text.match(pattern) ?? []).some((found) => !question.includes(found));
  switch (shape) {
    case 'person':
      return isNew(/\p{Lu}[\p{L}'’.]+(?:\s+(?:(?:de|van|von|der|la|al|bin)\s+)?\p{Lu}[\p{L}'’.-]+)+/gu);
    case 'date':
      return isNew(/\b(?:1\d|20)\d{2}s?\b|\b\d{1,2}(?:st|nd|rd|th)?\s+century\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b|\b\d{1,2}:\d{2}\b/g);
    case 'place':
      return isNew(/(?<=\b(?:in|at|near|on|from|of|to|off)\s(?:the\s)?)\p{Lu}[\p{L}'’-]+/gu);
    case 'number':
      return isNew(/\d[\d.,]*/g) || NUMBER_WORD.test(text);
    case 'length':
      return isNew(LENGTH);
    case 'version':
      return isNew(/\bv?\d+(?:\.\d+)+\b|\bv?\d+\b/g);
    case 'share':
      return isNew(/\d[\d.,]*\s*(?:%|percent|per cent)/gi) || /\b(?:half|third|quarter|majority)\b/i.test(text);
    case 'money':
      return isNew(AMOUNT_OF_MONEY) || isNew(PRICED);
    case 'reason':
      return /\b(?:because|since|due to|owing to|so that|in order to|therefore|reason|caused? by|as a result)\b/i.test(text);
    case 'definition':
      return /\b(?:is|are|means?|refers?\s+to|stands\s+for)\s+(?:an?|the|how|what|that|those)\b/i.test(text);
    case 'any':
      return false;
  }
}
