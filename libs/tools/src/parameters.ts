import { z } from 'zod';
import { TOOL_QUERY_CHARS_MAX, TOOL_URL_CHARS_MAX } from '#contracts';

/** A text a model must give: outer spaces do not count, and blank is refused. */
export const requiredText = (name: string, charsMax: number) =>
  z
    .string(`${name} is required and must be text`)
    .trim()
    .min(1, `${name} must not be empty`)
    .max(charsMax, `${name} must be at most ${charsMax} characters`);

export const pageUrl = requiredText('url', TOOL_URL_CHARS_MAX).describe('Address of the page, exactly as a search result or a page gave it.');

export const queryText = requiredText('query', TOOL_QUERY_CHARS_MAX);
