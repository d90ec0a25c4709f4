import { z } from 'zod';
import { SEARCH_HITS_MAX } from '#contracts';
import { defineTool } from './define-tool.ts';
import { queryText } from './parameters.ts';
import { shown } from './stored-source.ts';

/** Lists pages for a query. Its snippets are leads only: evidence needs a read. */
export const performWebSearch = defineTool({
  name: 'perform_web_search',
  capability: 'web_search',
  roles: ['worker'],
  description: `Searches for pages and returns up to ${SEARCH_HITS_MAX} results with title, URL and snippet. Snippets are leads, not evidence: read a page before you rely on it.`,
  parameters: z.strictObject({ query: queryText.describe('What to search for: a few specific words.') }),
  effect: 'read',
  price: 'search',
  timeoutMs: 30_000,
  activity: 'search',
  announce: ({ query }) => `Searching for "${shown(query)}".`,
  identity: ({ query }) => query.toLowerCase().replace(/\s+/g, ' ').trim(),
  async execute({ query }, _caller, ports, signal) {
    const { hits, degraded } = await ports.search.search(query, SEARCH_HITS_MAX, signal);
    return { kind: 'settled', result: { kind: 'hits', query, provider: ports.search.id, hits: hits.slice(0, SEARCH_HITS_MAX), degraded } };
  },
});
