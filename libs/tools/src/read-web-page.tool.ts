import { z } from 'zod';
import type { DurableEventBody, SourceId, ToolResult } from '#contracts';
import { deriveSourceId, pageCount, type FetchedPage, type Source, type ToolCaller, type ToolPorts } from '#domain';
import { defineTool } from './define-tool.ts';
import { pageUrl } from './parameters.ts';
import { shown } from './stored-source.ts';

/** Opens a page, stores it as a source of the run and shows page 0. A page the run has already is shown from its snapshot, for nothing. */
export const readWebPage = defineTool({
  name: 'read_web_page',
  capability: 'web_search',
  roles: ['worker'],
  description:
    'Opens a page and returns its first part (page 0). Use scroll_web_page for further parts and search_web_page to find a passage. Reading a page again shows the stored copy and costs nothing.',
  parameters: z.strictObject({
    url: pageUrl,
    force_refresh: z
      .boolean('force_refresh must be true or false')
      .optional()
      .describe('Fetch again although a copy is stored; costs a read. Default false.'),
  }),
  effect: 'read',
  price: 'read',
  timeoutMs: 60_000,
  activity: 'read',
  announce: ({ url }) => `Reading ${shown(url)}.`,

  identity: ({ url, force_refresh: forceRefresh }, ports) => `${forceRefresh === true ? 'again ' : ''}${canonicalUrlOrNull(url, ports) ?? url}`,
  mayDiffer: ({ force_refresh: forceRefresh }) => forceRefresh === true,

  async isFree({ url, force_refresh: forceRefresh }, caller, ports) {
    const canonicalUrl = canonicalUrlOrNull(url, ports);
    if (canonicalUrl === null) return true;
    return forceRefresh !== true && (await ports.sources.findByUrl(caller.rootRunId, canonicalUrl)) !== null;
  },

  async execute({ url, force_refresh: forceRefresh }, caller, ports, signal) {
    const canonicalUrl = ports.pages.canonicalUrl(url);
    const stored = await ports.sources.findByUrl(caller.rootRunId, canonicalUrl);
    if (stored !== null && forceRefresh !== true) return { kind: 'settled', result: firstPage(stored.id, stored, ports) };
    const page = await ports.pages.read(url, signal);
    if (stored !== null && isSameSnapshot(stored, page)) return { kind: 'settled', result: firstPage(stored.id, stored, ports) };
    const id = deriveSourceId(caller.toolCallId);
    return { kind: 'settled', result: firstPage(id, page, ports), source: { id, page }, events: [sourceEvent(id, page, caller)] };
  },
});

// An address no reader may open costs nothing: `execute` refuses it with the reason before anything is sent.
function canonicalUrlOrNull(url: string, ports: ToolPorts): string | null {
  try {
    return ports.pages.canonicalUrl(url);
  } catch {
    return null;
  }
}

const isSameSnapshot = (stored: Source, page: FetchedPage): boolean => stored.url === page.url && stored.bodySha256 === page.bodySha256;

const firstPage = (sourceId: SourceId, { url, title, text }: Source | FetchedPage, { pageChars }: ToolPorts): ToolResult => ({
  kind: 'page',
  sourceId,
  url,
  title,
  page: 0,
  pages: pageCount(text, pageChars),
});

const sourceEvent = (id: SourceId, { url, title, bodySha256 }: FetchedPage, { worker }: ToolCaller): DurableEventBody => ({
  type: 'source',
  source_id: id,
  url,
  title,
  body_sha256: bodySha256,
  worker: worker ?? undefined,
});
