import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DocumentIndex, IndexedDocument, TermStatistics } from '#domain';
import { Extractor } from '../extract/extractor.ts';
import { localSearch } from '../search/local.ts';
import { collectionOf } from './collection.ts';
import { indexFolder } from './folder.ts';
import { DocumentReader } from './reader.ts';

const never = new AbortController().signal;
const extractor = new Extractor({ timeoutMs: 5_000, children: 1 });
afterAll(() => extractor.close());

/** The port's contract without a server; the SQL repository has its own tests. */
class MemoryIndex implements DocumentIndex {
  readonly documents = new Map<string, IndexedDocument>();
  puts: string[] = [];

  exclusively<Value>(_collection: string, work: () => Promise<Value>): Promise<Value> {
    return work();
  }
  async fingerprints(collection: string) {
    return this.#of(collection).map(({ path, sizeBytes, modifiedAtMs }) => ({ path, sizeBytes, modifiedAtMs }));
  }
  async put(collection: string, documents: IndexedDocument[]) {
    for (const document of documents) this.documents.set(`${collection}/${document.path}`, document);
    this.puts.push(...documents.map(({ path }) => path));
  }
  async remove(collection: string, paths: string[]) {
    for (const path of paths) this.documents.delete(`${collection}/${path}`);
  }
  async statistics(collection: string, terms: string[]): Promise<TermStatistics> {
    const lengths = this.#of(collection).map((document) => [...document.terms.values()].reduce((sum, count) => sum + count, 0));
    const postings = terms.flatMap((term) => {
      const holders = this.#of(collection).map((document, at) => ({ document, length: lengths[at] ?? 0 })).filter(({ document }) => document.terms.has(term));
      return holders.map(({ document, length }) => ({ path: document.path, term, occurrences: document.terms.get(term) ?? 0, length, documentFrequency: holders.length }));
    });
    return { documents: lengths.length, averageLength: lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length), postings };
  }
  async read(collection: string, path: string) {
    const document = this.documents.get(`${collection}/${path}`);
    return document === undefined ? null : { title: document.title, mediaType: document.mediaType, text: document.text, bodySha256: document.bodySha256 };
  }
  #of(collection: string): IndexedDocument[] {
    return [...this.documents].filter(([key]) => key.startsWith(`${collection}/`)).map(([, document]) => document);
  }
}

let base: string;
let folder: string;
let index: MemoryIndex;
const run = () => indexFolder(folder, index, extractor, never);

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(join(folder, path, '..'), { recursive: true });
  await writeFile(join(folder, path), content);
}

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'quaestor-docs-'));
  folder = join(base, 'docs');
  await mkdir(folder);
  index = new MemoryIndex();
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('indexFolder', () => {
  it('indexes what can be read, and only again what changed', async () => {
    await write('guide.md', '# The guide\n\nVelvet moths prefer amber light.');
    await write('deep/er/page.html', '<title>The page</title><p>Silver owls hunt at dawn near the northern lakes.</p>');
    await write('note.TXT', 'plain words');
    for (const ignored of ['picture.png', '.hidden.md', '.git/a.md', 'node_modules/b/readme.md']) await write(ignored, 'moth');
    expect(await run()).toEqual({ indexed: 3, unchanged: 0, removed: 0, failed: [] });
    expect([...index.documents.values()].map(({ path, title, mediaType }) => [path, title, mediaType])).toEqual([
      ['deep/er/page.html', 'The page', 'text/html'],
      ['guide.md', 'The guide', 'text/markdown'],
      ['note.TXT', 'note.TXT', 'text/plain'],
    ]);
    expect(await run()).toEqual({ indexed: 0, unchanged: 3, removed: 0, failed: [] });

    index.puts = [];
    await write('guide.md', '# The guide\n\nVelvet moths prefer green light.');
    await utimes(join(folder, 'guide.md'), new Date(1), new Date(1_000));
    await rm(join(folder, 'note.TXT'));
    expect(await run()).toEqual({ indexed: 1, unchanged: 1, removed: 1, failed: [] });
    expect(index.puts).toEqual(['guide.md']);
    expect([...index.documents.values()].map(({ path }) => path)).toEqual(['deep/er/page.html', 'guide.md']);
  });

  it('reports what it cannot read and goes on; a document that became unreadable leaves the index', async () => {
    await write('good.md', 'good');
    await write('turns.pdf', 'old');
    await write('turns.txt', 'readable');
    await writeFile(join(folder, 'huge.txt'), Buffer.alloc(21 * 1024 * 1024, 'x'));
    const first = await run();
    expect(first).toMatchObject({ indexed: 2, failed: [{ path: 'huge.txt', reason: expect.stringContaining('larger than') }, { path: 'turns.pdf' }] });
    await write('turns.txt', Buffer.from([0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 7]));
    expect(await run()).toMatchObject({ indexed: 0, unchanged: 1 });
    expect([...index.documents.values()].map(({ path }) => path)).toEqual(['good.md']);
  });

  it('[Q-29] never follows a link out of the folder, and ends on a link to itself', async () => {
    await writeFile(join(base, 'secret.md'), 'secret');
    await mkdir(join(base, 'docs-too'));
    await writeFile(join(base, 'docs-too', 'secret.md'), 'secret');
    await write('inside/a.md', 'inside');
    await symlink(join(base, 'secret.md'), join(folder, 'link.md'));
    await symlink(join(base, 'docs-too'), join(folder, 'neighbour'));
    await symlink(folder, join(folder, 'inside', 'loop'));
    await symlink(join(folder, 'inside', 'a.md'), join(folder, 'alias.md'));
    const report = await run();
    expect(report.failed).toEqual([
      { path: 'link.md', reason: expect.stringContaining('leaves the folder') },
      { path: 'neighbour', reason: expect.stringContaining('leaves the folder') },
    ]);
    expect([...index.documents.values()].map(({ path }) => path)).toEqual(['alias.md', 'inside/a.md']);
  });

  it.each<[string, () => Promise<string>, string]>([
    ['is missing', async () => join(folder, 'nowhere'), 'does not exist'],
    ['is a file', async () => (await write('a.md', 'a'), join(folder, 'a.md')), 'is not a folder'],
    ['is below a file', async () => (await write('a.md', 'a'), join(folder, 'a.md', 'x')), 'is not a folder'],
    ['is empty', async () => folder, 'holds no document'],
    ['holds nothing readable', async () => (await write('a.png', 'a'), folder), 'holds no document'],
  ])('names a folder that %s', async (_, prepare, reason) => {
    const given = await prepare();
    await expect(indexFolder(given, index, extractor, never)).rejects.toMatchObject({ code: 'DOCS_FOLDER_INVALID', message: `The document folder ${given} ${reason}${reason.startsWith('holds') ? ' that can be read (.md, .markdown, .txt, .html, .htm, .pdf)' : ''}.` });
  });

  it('refuses a folder of which nothing can be read, naming one document and why', async () => {
    await write('a.pdf', '%PDF-1.4 broken');
    await write('b.pdf', 'no pdf at all');
    await expect(run()).rejects.toMatchObject({ code: 'DOCS_FOLDER_INVALID', message: expect.stringMatching(/^None of the 2 documents in the folder .* can be read \([ab]\.pdf: .+\)\.$/) });
  });

  it('an abort ends it', async () => {
    await write('a.md', 'a');
    await expect(indexFolder(folder, index, extractor, AbortSignal.abort())).rejects.toThrow();
  });
});

describe('searching and reading documents', () => {
  async function prepare() {
    await write('moths/velvet moth.md', '# Velvet moths\n\nA short introduction about insects.\n\nVelvet moths prefer amber light at 590 nanometres.\n\nThey sleep in winter.');
    await write('owls.md', '# Silver owls\n\nSilver owls hunt at dawn. They dislike amber.');
    await write('lakes.md', '# Lakes\n\nThe northern lakes are cold.');
    await run();
    const collection = await collectionOf(folder);
    return { search: localSearch.create({ DOCS_DIR: folder }, { documents: index, collection }), reader: new DocumentReader(index, collection) };
  }

  it('finds the right document first, with its best passage', async () => {
    const { search } = await prepare();
    const { hits } = await search.search('Which light do velvet moths prefer?', 10, never);
    expect(hits[0]).toEqual({ rank: 1, url: 'doc:moths/velvet%20moth.md', title: 'Velvet moths', snippet: 'Velvet moths prefer amber light at 590 nanometres.', engine: 'local' });
    expect((await search.search('amber', 1, never)).hits).toHaveLength(1);
    expect((await search.search('quantum chromodynamics', 10, never)).hits).toEqual([]);
    expect((await search.search('the of and', 10, never)).hits).toEqual([]);
  });

  it('opens what it found', async () => {
    const { reader } = await prepare();
    const page = await reader.read('doc:moths/velvet moth.md#top', never);
    expect(page).toMatchObject({ url: 'doc:moths/velvet%20moth.md', finalUrl: 'doc:moths/velvet%20moth.md', title: 'Velvet moths', mediaType: 'text/markdown' });
    expect(page.text).toContain('590 nanometres');
    await expect(reader.read('doc:absent.md', never)).rejects.toMatchObject({ code: 'PAGE_FETCH_FAILED', retryable: false });
    await expect(reader.read('doc:../secret.md', never)).rejects.toMatchObject({ code: 'URL_REFUSED' });
  });

  it('needs a folder', () => {
    expect(() => localSearch.create({}, { documents: index, collection: null })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
