import { z } from 'zod';
import { pageCount, pageSlice } from '#domain';
import { defineTool } from './define-tool.ts';
import { pageUrl } from './parameters.ts';
import { shown, storedSource } from './stored-source.ts';

/** Shows one further part of a page the run has read. */
export const scrollWebPage = defineTool({
  name: 'scroll_web_page',
  capability: 'web_search',
  roles: ['worker'],
  description: 'Returns one part of a page that read_web_page has loaded. Pages are numbered from 0.',
  parameters: z.strictObject({
    url: pageUrl,
    // The range is known only with the source: `execute` refuses fractions and negatives by naming it.
    page: z.number('page must be a whole number from 0').meta({ type: 'integer' }).describe('Number of the part, from 0.'),
  }),
  effect: 'read',
  price: null,
  timeoutMs: 15_000,
  activity: 'scroll',
  announce: ({ url, page }) => `Reading on in ${shown(url)}, page ${page}.`,
  async execute({ url, page }, caller, ports) {
    const source = await storedSource(url, caller, ports);
    pageSlice(source.text, ports.pageChars, page);
    const { id: sourceId, title } = source;
    const pages = pageCount(source.text, ports.pageChars);
    return { kind: 'settled', result: { kind: 'page', sourceId, url: source.url, title, page, pages } };
  },
});
