import { QuaestorError } from '#contracts';
import { codePointBoundary } from './one-line.ts';

/**
 * Pages are 0-indexed slices of a stored text, `pageChars` UTF-16 units each (at least 2), moved down by one where a code point would be
 * split. Read, scroll and in-page search use these functions on the same stored text, so they always see the same pages.
 */
export function pageCount(text: string, pageChars: number): number {
  return Math.max(1, Math.ceil(text.length / pageChars));
}

/** The text of one page. Throws `PAGE_OUT_OF_RANGE`, naming the valid range, for a page that is negative, fractional or past the end. */
export function pageSlice(text: string, pageChars: number, page: number): string {
  const pages = pageCount(text, pageChars);
  if (!Number.isInteger(page) || page < 0 || page >= pages) {
    throw new QuaestorError('PAGE_OUT_OF_RANGE', `Page ${page} does not exist: valid pages are 0 to ${pages - 1}.`);
  }
  return text.slice(codePointBoundary(text, page * pageChars), codePointBoundary(text, (page + 1) * pageChars));
}

/** The page that holds the character at `position`. */
export function pageOf(text: string, pageChars: number, position: number): number {
  const page = Math.floor(position / pageChars);
  return codePointBoundary(text, (page + 1) * pageChars) <= position ? page + 1 : page;
}
