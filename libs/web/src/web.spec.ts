import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DocumentIndex } from '#domain';
import { webConfig } from './config.ts';
import { createWeb, type Web } from './web.ts';

const never = new AbortController().signal;
const document = { title: 'Moths', mediaType: 'text/markdown', text: 'Velvet moths.', bodySha256: 'a'.repeat(64) };
const index: DocumentIndex = {
  exclusively: (_collection, work) => work(),
  fingerprints: async () => [],
  put: async () => undefined,
  remove: async () => undefined,
  statistics: async () => ({ documents: 0, averageLength: 0, postings: [] }),
  read: async (_collection, path) => (path === 'moths.md' ? document : null),
};

const server = createServer((incoming, response) => {
  if (incoming.url === '/moved') response.writeHead(301, { location: '/page.html' }).end();
  else if (incoming.url === '/latin') response.setHeader('content-type', 'text/plain; charset=iso-8859-1').end(Buffer.from([0x6e, 0x61, 0xef, 0x76, 0x65]));
  else response.setHeader('content-type', 'text/html').end('<title>Owls &amp; moths</title><body><p>Silver owls hunt at dawn near the lakes.</p></body>');
});
let origin = '';
let folder = '';
const webs: Web[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quaestor-web-'));
  await writeFile(join(folder, 'moths.md'), '# Moths');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const web of webs.splice(0)) {
    await web.close();
    await web.close();
  }
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

async function web(settings: Record<string, string>): Promise<Web> {
  const created = await createWeb(webConfig.parse(settings), { documents: index });
  webs.push(created);
  return created;
}

describe('createWeb', () => {
  it('chooses the search engine by what is set', async () => {
    expect((await web({ DOCS_DIR: folder })).search.id).toBe('local');
    expect((await web({ SEARXNG_URL: 'http://127.0.0.1:8888' })).search.id).toBe('searxng');
    expect((await web({ SEARXNG_URL: 'http://127.0.0.1:8888', DOCS_DIR: folder, SEARCH_PROVIDER: 'local' })).search.id).toBe('local');
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'DOCS_DIR'],
    [{ SEARCH_PROVIDER: 'searxng' }, 'SEARXNG_URL'],
    [{ DOCS_DIR: '/tmp', WEB_ALLOW_PRIVATE_HOSTS: 'a b' }, 'WEB_ALLOW_PRIVATE_HOSTS'],
  ])('refuses the settings %j and names %s', async (settings, name) => {
    await expect(web(settings)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(name) });
  });

  it('reads a web page: canonical address, final address, charset, title', async () => {
    const { pages } = await web({ SEARXNG_URL: origin, WEB_ALLOW_PRIVATE_HOSTS: origin.slice('http://'.length) });
    const page = await pages.read(`${origin}/moved?utm_source=x#part`, never).catch((error: unknown) => error);
    expect(page).toMatchObject({ url: `${origin}/moved`, finalUrl: `${origin}/page.html`, title: 'Owls & moths', mediaType: 'text/html' });
    expect(page).toHaveProperty('text', 'Silver owls hunt at dawn near the lakes.');
    expect(await pages.read(`${origin}/latin`, never)).toMatchObject({ text: 'naïve', title: 'latin', extraction: 'plain' });
  });

  it('reads documents without touching the web, which stays closed beside a local search', async () => {
    const { pages } = await web({ DOCS_DIR: folder });
    expect(await pages.read('DOC:moths.md#x', never)).toEqual({ ...document, url: 'doc:moths.md', finalUrl: 'doc:moths.md', extraction: 'document' });
    expect(() => pages.canonicalUrl('https://example.com/')).toThrow(expect.objectContaining({ code: 'URL_REFUSED', message: expect.stringContaining('WEB_ENABLED') }));
    await expect(pages.read('https://example.com/', never)).rejects.toMatchObject({ code: 'URL_REFUSED' });
    const open = await web({ DOCS_DIR: folder, WEB_ENABLED: 'true' });
    expect(open.pages.canonicalUrl('HTTPS://Example.com./#a')).toBe('https://example.com/');
  });

  it('[Q-29] refuses private and unknown addresses before anything is sent', async () => {
    const { pages } = await web({ SEARXNG_URL: origin });
    for (const address of [`${origin}/page.html`, 'http://127.1/', 'doc:moths.md', 'file:///etc/passwd', 'nonsense']) {
      expect(() => pages.canonicalUrl(address)).toThrow(expect.objectContaining({ code: 'URL_REFUSED' }));
      await expect(pages.read(address, never)).rejects.toMatchObject({ code: 'URL_REFUSED' });
    }
  });

  it('indexes its folder, and says when there is none', async () => {
    expect(await (await web({ DOCS_DIR: folder })).indexDocuments()).toEqual({ indexed: 1, unchanged: 0, removed: 0, failed: [] });
    await expect((await web({ SEARXNG_URL: origin })).indexDocuments()).rejects.toMatchObject({ code: 'DOCS_FOLDER_INVALID' });
    await expect((await web({ DOCS_DIR: join(folder, 'gone') })).indexDocuments()).rejects.toMatchObject({ code: 'DOCS_FOLDER_INVALID' });
  });
});
