import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { QuaestorError, type RunId, type ScratchpadThreadId, type TenantId, type ToolCallId, type ToolResult } from '#contracts';
import {
  expandCapabilities,
  pageSlice,
  parseToolCall,
  PLATFORM_TOOL_MAP,
  RESERVED_TOOL_NAMES,
  toolDefinitions,
  type FetchedPage,
  type SettledOutcome,
  type Source,
  type ToolCaller,
  type ToolPorts,
  type ToolSpec,
} from '#domain';
import { PLATFORM_TOOLS } from './index.ts';

const BODY = '0123456789abcdefghijklmnopqrstuv'.slice(0, 26);
const caller: ToolCaller = {
  tenantId: `ten_${BODY}` as TenantId,
  runId: `run_${BODY}` as RunId,
  rootRunId: `run_${BODY}` as RunId,
  role: 'worker',
  scratchpadThreadId: `thr_${BODY}` as ScratchpadThreadId,
  toolCallId: `call_${BODY}` as ToolCallId,
  worker: 2,
  hostPolicy: null,
};

interface World {
  ports: ToolPorts;
  reads: string[];
  stored: Source[];
  site: Map<string, string>;
}

/** Ports over a map of pages. A settled read is stored, as the loop would do in its commit. */
function world(site: Record<string, string>, pageChars = 10): World {
  const reads: string[] = [];
  const stored: Source[] = [];
  const pages = new Map(Object.entries(site));
  const canonicalUrl = (url: string): string => {
    if (!url.startsWith('https://')) throw new QuaestorError('URL_REFUSED', `${url} is not allowed.`);
    return url.replace(/#.*$/, '');
  };
  const read = (url: string): Promise<FetchedPage> => {
    reads.push(url);
    const text = pages.get(canonicalUrl(url));
    if (text === undefined) return Promise.reject(new QuaestorError('PAGE_FETCH_FAILED', `${url} answered 404.`));
    const bodySha256 = createHash('sha256').update(text).digest('hex');
    return Promise.resolve({ url: canonicalUrl(url), finalUrl: url, title: 'T', mediaType: 'text/html', text, bodySha256, extraction: 'plain' });
  };
  const ports: ToolPorts = {
    search: { id: 'fixture', search: (query, limit) => Promise.resolve({ hits: hits(limit + 5, query) }) },
    pages: { canonicalUrl, read },
    sources: {
      findByUrl: (_run, url) => Promise.resolve(stored.findLast((source) => source.url === url) ?? null),
      get: (_run, id) => Promise.resolve(stored.find((source) => source.id === id) ?? null),
      heads: () => Promise.resolve(stored.map((source) => ({ ...source, fetchedAt: '2026-01-01T00:00:00.000Z' }))),
    },
    scratchpad: { read: () => Promise.resolve({ body: 'the plan', revision: 1, entries: [] }) },
    writeScratchpad: ({ toolCallId }) => Promise.resolve({ kind: 'text', text: `written by ${toolCallId}` }),
    pageChars,
  };
  return { ports, reads, stored, site: pages };
}

const hits = (count: number, title: string) =>
  Array.from({ length: count }, (_, index) => ({ rank: index + 1, url: `https://e.org/${index}`, title, snippet: 's' }));

const tool = (name: string): ToolSpec => {
  const spec = PLATFORM_TOOLS.find((candidate) => candidate.name === name);
  if (spec === undefined) throw new Error(`no ${name}`);
  return spec;
};

async function call(name: string, args: unknown, { ports, stored }: World): Promise<SettledOutcome> {
  const parsed = parseToolCall(PLATFORM_TOOLS, { name, arguments: JSON.stringify(args) });
  if (!parsed.ok) throw new QuaestorError(parsed.result.code as 'TOOL_ARGUMENTS_INVALID', parsed.result.message);
  const outcome = await parsed.spec.execute(parsed.args, caller, ports, new AbortController().signal);
  if (outcome.kind !== 'settled') throw new Error('deferred');
  if (outcome.source !== undefined) stored.push({ id: outcome.source.id, ...outcome.source.page });
  return outcome;
}

const isFree = (name: string, args: unknown, { ports }: World): Promise<boolean> =>
  tool(name).isFree?.(args, caller, ports) ?? Promise.resolve(false);

const textOf = (result: ToolResult, { stored, ports }: World): string => {
  if (result.kind !== 'page') throw new Error(result.kind);
  const source = stored.find(({ id }) => id === result.sourceId);
  return pageSlice(source?.text ?? '', ports.pageChars, result.page);
};

describe('the catalogue', () => {
  it('agrees with PLATFORM_TOOL_MAP on names, capabilities and roles', () => {
    expect(new Set(PLATFORM_TOOLS.map(({ name }) => name))).toEqual(RESERVED_TOOL_NAMES);
    for (const spec of PLATFORM_TOOLS) {
      const byRole: Record<string, readonly string[]> = PLATFORM_TOOL_MAP[spec.capability];
      expect(spec.roles, spec.name).toEqual(Object.keys(byRole).filter((role) => byRole[role]?.includes(spec.name)));
    }
  });

  it('[Q-21] has no id, tenant, thread or owner in any schema', () => {
    const members = toolDefinitions(PLATFORM_TOOLS).flatMap(({ parameters }) => Object.keys(parameters['properties'] as object));
    expect(members.toSorted()).toEqual(['content', 'force_refresh', 'note', 'page', 'query', 'query', 'requirements', 'task', 'url', 'url', 'url'].toSorted());
    for (const { parameters } of toolDefinitions(PLATFORM_TOOLS)) expect(parameters['additionalProperties']).toBe(false);
  });

  it('[Q-20] never speaks of a tool by its name in public sentences', () => {
    const args = { query: 'q', url: 'https://e.org', page: 1, note: 'SECRET', content: 'SECRET', task: 'SECRET' };
    for (const spec of PLATFORM_TOOLS) {
      const sentence = spec.announce(args);
      expect(sentence).not.toMatch(/_|SECRET/);
      expect(sentence.length).toBeLessThan(300);
    }
  });

  it('prices a search and a read, and nothing else', () => {
    const priced = PLATFORM_TOOLS.filter(({ price }) => price !== null).map(({ name, price }) => [name, price]);
    expect(priced).toEqual([['read_web_page', 'read'], ['perform_web_search', 'search']]);
  });

  it('gives a worker the web and the pad without the plan, and a supervisor the pad and delegation', () => {
    expect(expandCapabilities(['delegation', 'scratchpad', 'web_search'], 'worker')).toEqual([
      'read_web_page', 'search_web_page', 'scroll_web_page', 'perform_web_search', 'read_scratchpad', 'append_scratchpad',
    ]);
    expect(expandCapabilities(['scratchpad', 'delegation', 'scratchpad'], 'supervisor')).toEqual([
      'read_scratchpad', 'append_scratchpad', 'update_scratchpad', 'delegate_research_task',
    ]);
  });
});

describe('perform_web_search', () => {
  it('returns at most ten hits with query and provider', async () => {
    const { result } = await call('perform_web_search', { query: '  tides ' }, world({}));
    expect(result).toMatchObject({ kind: 'hits', query: 'tides', provider: 'fixture' });
    expect(result.kind === 'hits' && result.hits.length).toBe(10);
  });

  it('passes the failure of a provider on', async () => {
    const broken = world({});
    broken.ports.search.search = () => Promise.reject(new QuaestorError('SEARCH_FAILED', 'The search engine answered 500.'));
    await expect(call('perform_web_search', { query: 'x' }, broken)).rejects.toMatchObject({ code: 'SEARCH_FAILED' });
  });
});

describe('reading', () => {
  const text = 'The first page and the second and the end.';

  it('stores a new source with its event and shows page 0', async () => {
    const there = world({ 'https://e.org/a': text });
    const outcome = await call('read_web_page', { url: 'https://e.org/a#x' }, there);
    expect(outcome.result).toEqual({ kind: 'page', sourceId: `src_${BODY}`, url: 'https://e.org/a', title: 'T', page: 0, pages: 5 });
    expect(outcome.events).toMatchObject([{ type: 'source', source_id: `src_${BODY}`, url: 'https://e.org/a', worker: 2 }]);
    expect(textOf(outcome.result, there)).toBe('The first ');
  });

  it('shows a stored page again from its snapshot: free, unfetched, even after the site changed', async () => {
    const there = world({ 'https://e.org/a': text });
    expect(await isFree('read_web_page', { url: 'https://e.org/a' }, there)).toBe(false);
    await call('read_web_page', { url: 'https://e.org/a' }, there);
    there.site.set('https://e.org/a', 'changed');
    expect(await isFree('read_web_page', { url: 'https://e.org/a#part' }, there)).toBe(true);
    const again = await call('read_web_page', { url: 'https://e.org/a#part' }, there);
    expect(there.reads).toHaveLength(1);
    expect(again.source).toBeUndefined();
    expect(again.events).toBeUndefined();
    expect(textOf(again.result, there)).toBe('The first ');
  });

  it('fetches again under force_refresh, priced, and keeps the old source when nothing changed', async () => {
    const there = world({ 'https://e.org/a': text });
    await call('read_web_page', { url: 'https://e.org/a' }, there);
    const args = { url: 'https://e.org/a', force_refresh: true };
    expect(await isFree('read_web_page', args, there)).toBe(false);
    expect((await call('read_web_page', args, there)).source).toBeUndefined();
    there.site.set('https://e.org/a', 'changed');
    expect((await call('read_web_page', args, there)).source?.page.text).toBe('changed');
    expect(there.reads).toHaveLength(3);
  });

  it('refuses an address out of policy without cost and without a fetch', async () => {
    const there = world({});
    expect(await isFree('read_web_page', { url: 'http://127.0.0.1/' }, there)).toBe(true);
    await expect(call('read_web_page', { url: 'http://127.0.0.1/' }, there)).rejects.toMatchObject({ code: 'URL_REFUSED' });
    expect(there.reads).toEqual([]);
  });

  it('read, scroll and in-page search see one snapshot', async () => {
    const there = world({ 'https://e.org/a': text });
    await call('read_web_page', { url: 'https://e.org/a' }, there);
    there.site.set('https://e.org/a', 'changed');
    const parts = await Promise.all([0, 1, 2, 3, 4].map((page) => call('scroll_web_page', { url: 'https://e.org/a', page }, there)));
    expect(parts.map(({ result }) => textOf(result, there)).join('')).toBe(text);
    const { result } = await call('search_web_page', { url: 'https://e.org/a', query: 'SECOND' }, there);
    expect(result).toMatchObject({ kind: 'matches', matches: [{ page: 2, text }] });
  });

  it('finds related words only where the phrase itself is absent', async () => {
    const there = world({ 'https://e.org/a': 'Cats sleep.\nThe glaciers melted quickly last year.\nDogs bark.' }, 8_000);
    await call('read_web_page', { url: 'https://e.org/a' }, there);
    const find = async (query: string) => (await call('search_web_page', { url: 'https://e.org/a', query }, there)).result;
    expect(await find('melting of glaciers')).toMatchObject({ matches: [{ page: 0, text: 'The glaciers melted quickly last year.' }] });
    expect(await find('submarine')).toMatchObject({ matches: [] });
  });

  it.each([-1, 1.5, 5, 1e9])('refuses page %d and names the valid range', async (page) => {
    const there = world({ 'https://e.org/a': text });
    await call('read_web_page', { url: 'https://e.org/a' }, there);
    const refused = call('scroll_web_page', { url: 'https://e.org/a', page }, there);
    await expect(refused).rejects.toMatchObject({ code: 'PAGE_OUT_OF_RANGE', message: expect.stringContaining('0 to 4') });
  });

  it.each([
    ['scroll_web_page', { url: 'https://e.org/a', page: 0 }],
    ['search_web_page', { url: 'https://e.org/a', query: 'x' }],
  ])('%s of a page that was never read says to read it first', async (name, args) => {
    const refused = call(name, args, world({ 'https://e.org/a': text }));
    await expect(refused).rejects.toMatchObject({ code: 'PAGE_NOT_LOADED', message: expect.stringContaining('read_web_page') });
  });
});

describe('scratchpad and delegation', () => {
  it('shows the pad of the caller', async () => {
    const { result } = await call('read_scratchpad', {}, world({}));
    expect(result).toEqual({ kind: 'text', text: 'WORKING BODY\nthe plan\n\nAPPENDED ENTRIES\n(none)' });
  });

  it.each([['append_scratchpad', { note: 'n' }], ['update_scratchpad', { content: 'c' }]])('%s leaves settling to the service', async (name, args) => {
    const outcome = await call(name, args, world({}));
    expect(outcome).toEqual({ kind: 'settled', result: { kind: 'text', text: `written by ${caller.toolCallId}` }, alreadySettled: true });
  });

  it.each([
    ['append_scratchpad', { note: ' \n ' }, 'note must not be empty'],
    ['append_scratchpad', { note: 'x'.repeat(16_001) }, 'note must be at most 16000 characters'],
    ['append_scratchpad', {}, 'note is required'],
    ['append_scratchpad', { note: 'n', thread_id: 'thr_1' }, 'thread_id'],
    ['update_scratchpad', { content: '' }, 'content must not be empty'],
    ['delegate_research_task', { task: '' }, 'task must not be empty'],
  ])('%s refuses %j', async (name, args, message) => {
    await expect(call(name, args, world({}))).rejects.toMatchObject({
      code: 'TOOL_ARGUMENTS_INVALID',
      message: expect.stringContaining(message),
    });
  });

  it('defers a delegation', async () => {
    const outcome = await tool('delegate_research_task').execute({ task: 't' }, caller, world({}).ports, new AbortController().signal);
    expect(outcome).toEqual({ kind: 'deferred' });
  });
});
