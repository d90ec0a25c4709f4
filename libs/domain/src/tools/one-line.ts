import { stripControlCharacters } from '../text/sanitize.ts';

const SPACES = /\s+/g;

/** The text on one line, without hidden characters and outer spaces: safe as a field of a rendered frame, where a line has a meaning. */
export function oneLine(text: string): string {
  return stripControlCharacters(text).replace(SPACES, ' ').trim();
}

/** The nearest position at or below `position` that does not split a surrogate pair. */
export function codePointBoundary(text: string, position: number): number {
  const splits = position > 0 && position < text.length && isHigh(text.charCodeAt(position - 1)) && isLow(text.charCodeAt(position));
  return splits ? position - 1 : position;
}

const isHigh = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
const isLow = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;
