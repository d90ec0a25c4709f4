import { z } from 'zod';
import { PAGE_MATCHES_MAX, PAGE_MATCH_CONTEXT_CHARS } from '#contracts';
import { findInText, findRelated } from '#domain';
import { defineTool } from './define-tool.ts';
import { pageUrl, queryText } from './parameters.ts';
import { shown, storedSource } from './stored-source.ts';

/** Finds passages in a page the run has read. The exact phrase wins; only where it is absent do related words count. */
export const searchWebPage = defineTool({
  name: 'search_web_page',
  capability: 'web_search',
  roles: ['worker'],
  description: `Finds a phrase in a page that read_web_page has loaded and returns up to ${PAGE_MATCHES_MAX} snippets with their page numbers. Letter case does not matter.`,
  parameters: z.strictObject({ url: pageUrl, query: queryText.describe('Word or phrase to find in the page.') }),
  effect: 'read',
  price: null,
  timeoutMs: 15_000,
  activity: 'find',
  announce: ({ url, query }) => `Looking for "${shown(query)}" in ${shown(url)}.`,
  async execute({ url, query }, caller, ports) {
    const source = await storedSource(url, caller, ports);
    const options = { pageChars: ports.pageChars, contextChars: PAGE_MATCH_CONTEXT_CHARS, matchesMax: PAGE_MATCHES_MAX };
    const literal = findInText(source.text, query, options);
    const matches = literal.length > 0 ? literal : findRelated(source.text, query, options);
    return { kind: 'settled', result: { kind: 'matches', sourceId: source.id, url: source.url, query, matches } };
  },
});
