import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { IndexedDocument } from '#domain';
import { createTestDatabase, type TestDatabase } from '#testing';
import { openDataSource } from '../data-source.ts';
import { DocumentIndex1700000002000 } from '../migrations/1700000002000-document-index.ts';
import { DocumentIndexRepository } from './document-index.repository.ts';

const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const collection = sha('folder');
const other = sha('other folder');

let database: TestDatabase;
let dataSource: DataSource;
let index: DocumentIndexRepository;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await openDataSource({ url: database.url });
  index = new DocumentIndexRepository(dataSource);
});
afterAll(async () => {
  await dataSource?.destroy();
  await database?.drop();
});
beforeEach(async () => {
  await dataSource.query('DELETE FROM document_terms');
  await dataSource.query('DELETE FROM documents');
});

function document(path: string, terms: Record<string, number>, overrides: Partial<IndexedDocument> = {}): IndexedDocument {
  const text = `text of ${path} – 日本`;
  return { path, title: `Title of ${path}`, mediaType: 'text/markdown', text, bodySha256: sha(text), sizeBytes: 10, modifiedAtMs: 1_700_000_000_123, terms: new Map(Object.entries(terms)), ...overrides };
}

describe('DocumentIndexRepository', () => {
  it('keeps a document as it was put, and its collection to itself', async () => {
    const path = 'ordner/größe 日本 .md';
    await index.put(collection, [document(path, { moth: 2 })]);
    expect(await index.read(collection, path)).toEqual({ title: `Title of ${path}`, mediaType: 'text/markdown', text: `text of ${path} – 日本`, bodySha256: sha(`text of ${path} – 日本`) });
    expect(await index.fingerprints(collection)).toEqual([{ path, sizeBytes: 10, modifiedAtMs: 1_700_000_000_123 }]);
    expect(await index.read(other, path)).toBeNull();
    expect(await index.fingerprints(other)).toEqual([]);
  });

  it('tells paths apart that a text collation would not', async () => {
    const paths = ['a', 'A', 'a ', 'á', 'x'.repeat(1_000)];
    await index.put(collection, paths.map((path) => document(path, { term: 1 })));
    expect((await index.fingerprints(collection)).map(({ path }) => path).sort()).toEqual([...paths].sort());
  });

  it('gives lengths, frequencies and postings of the terms asked for', async () => {
    await index.put(collection, [document('a.md', { moth: 2, lamp: 1 }), document('b.md', { moth: 1, owl: 4 }), document('c.md', { owl: 1 })]);
    await index.put(other, [document('a.md', { moth: 9 })]);
    const { postings, ...corpus } = await index.statistics(collection, ['moth', 'absent', 'moth']);
    expect(corpus).toEqual({ documents: 3, averageLength: 3 });
    expect(postings.sort((left, right) => left.path.localeCompare(right.path))).toEqual([
      { path: 'a.md', term: 'moth', occurrences: 2, length: 3, documentFrequency: 2 },
      { path: 'b.md', term: 'moth', occurrences: 1, length: 5, documentFrequency: 2 },
    ]);
    expect(await index.statistics(collection, [])).toEqual({ documents: 3, averageLength: 3, postings: [] });
    expect(await index.statistics(sha('nothing'), ['moth'])).toEqual({ documents: 0, averageLength: 0, postings: [] });
  });

  it('replaces a document with its terms; a repeat changes nothing', async () => {
    await index.put(collection, [document('a.md', { moth: 2 })]);
    const renewed = document('a.md', { owl: 1 }, { text: 'new', sizeBytes: 3 });
    await index.put(collection, [renewed]);
    await index.put(collection, [renewed]);
    expect((await index.read(collection, 'a.md'))?.text).toBe('new');
    expect((await index.statistics(collection, ['moth', 'owl'])).postings.map(({ term }) => term)).toEqual(['owl']);
    expect(await dataSource.query('SELECT COUNT(*) AS terms FROM document_terms')).toEqual([{ terms: '1' }]);
  });

  it('removes documents with their terms; what is not there is no error', async () => {
    await index.put(collection, [document('a.md', { moth: 2 }), document('b.md', { moth: 1 })]);
    await index.remove(collection, ['a.md', 'never.md']);
    expect((await index.fingerprints(collection)).map(({ path }) => path)).toEqual(['b.md']);
    expect((await index.statistics(collection, ['moth'])).postings).toHaveLength(1);
  });

  it('holds a large document: many terms, a long text, a long title; overlong terms are left out', async () => {
    const terms = Object.fromEntries(Array.from({ length: 5_000 }, (_, number) => [`term${number}`, 1]));
    const text = 'lorem ipsum '.repeat(160_000);
    await index.put(collection, [document('big.md', { ...terms, ['y'.repeat(65)]: 1 }, { text, title: '😀'.repeat(600) })]);
    expect((await index.read(collection, 'big.md'))?.text).toBe(text);
    expect((await index.statistics(collection, ['term4999'])).postings[0]?.length).toBe(5_000);
  });

  it('lets one process index a collection at a time, others theirs, and frees the lock after a failure', async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const first = index.exclusively(collection, async () => {
      order.push('first in');
      entered.resolve();
      await gate.promise;
      order.push('first out');
    });
    await entered.promise;
    const second = index.exclusively(collection, async () => order.push('second in'));
    await index.exclusively(other, async () => order.push('other in'));
    gate.resolve();
    await Promise.all([first, second]);
    expect(order).toEqual(['first in', 'other in', 'first out', 'second in']);
    await expect(index.exclusively(collection, () => Promise.reject(new Error('work failed')))).rejects.toThrow('work failed');
    expect(await index.exclusively(collection, async () => 'again')).toBe('again');
  });

  it('its migration can be run again', async () => {
    const runner = dataSource.createQueryRunner();
    await new DocumentIndex1700000002000().up(runner);
    await runner.release();
  });
});
