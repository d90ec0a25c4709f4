import type { DataSource, EntityManager } from 'typeorm';
import { QuaestorError } from '#contracts';
import type { DocumentFingerprint, DocumentIndex, IndexedDocument, TermStatistics } from '#domain';
import { compressText, decompressText } from '../compress.ts';

const LOCK_WAIT_SECONDS = 120;
const TERM_ROWS_PER_INSERT = 1_000;
const PATHS_PER_DELETE = 500;
const TITLE_CHARS_MAX = 512;
/** The column's width; longer runs of letters are no words anybody searches for. */
const TERM_CHARS_MAX = 64;

interface FingerprintRow {
  path: Buffer;
  size_bytes: string;
  modified_at_ms: string;
}

interface PostingRow {
  path: Buffer;
  term: string;
  occurrences: number;
  length: number;
}

/**
 * The shared postings of local documents, in SQL. A document and its terms change in one transaction, so a search never meets half of
 * one; every write may be repeated. `exclusively` holds a named lock of the server on one connection of its own.
 */
export class DocumentIndexRepository implements DocumentIndex {
  readonly #dataSource: DataSource;

  constructor(dataSource: DataSource) {
    this.#dataSource = dataSource;
  }

  /** Waits up to 120 s for its turn, then throws `SERVICE_UNAVAILABLE`. The lock also ends when this process or its connection does. */
  async exclusively<Value>(collection: string, work: () => Promise<Value>): Promise<Value> {
    const runner = this.#dataSource.createQueryRunner();
    const lock = `quaestor_documents_${collection.slice(0, 40)}`;
    try {
      const rows = (await runner.query('SELECT GET_LOCK(?, ?) AS taken', [lock, LOCK_WAIT_SECONDS])) as { taken: number | string | null }[];
      if (Number(rows[0]?.taken) !== 1) {
        throw new QuaestorError('SERVICE_UNAVAILABLE', `Another process has been indexing the same documents for ${LOCK_WAIT_SECONDS} s: try again when it is done.`);
      }
      try {
        return await work();
      } finally {
        await runner.query('SELECT RELEASE_LOCK(?)', [lock]);
      }
    } finally {
      await runner.release();
    }
  }

  async fingerprints(collection: string): Promise<DocumentFingerprint[]> {
    const rows = (await this.#dataSource.query('SELECT path, size_bytes, modified_at_ms FROM documents WHERE collection = ?', [collection])) as FingerprintRow[];
    return rows.map((row) => ({ path: row.path.toString('utf8'), sizeBytes: Number(row.size_bytes), modifiedAtMs: Number(row.modified_at_ms) }));
  }

  /** Replaces each document as a whole. Terms longer than 64 characters are left out. */
  async put(collection: string, documents: IndexedDocument[]): Promise<void> {
    if (documents.length === 0) return;
    const bodies = await Promise.all(documents.map((document) => compressText(document.text)));
    await this.#dataSource.transaction(async (manager) => {
      await removePaths(manager, collection, documents.map((document) => document.path));
      for (const [index, document] of documents.entries()) {
        await insertDocument(manager, collection, document, bodies[index] ?? Buffer.alloc(0));
      }
    });
  }

  async remove(collection: string, paths: string[]): Promise<void> {
    if (paths.length === 0) return;
    await this.#dataSource.transaction((manager) => removePaths(manager, collection, paths));
  }

  async statistics(collection: string, terms: string[]): Promise<TermStatistics> {
    const [totals, postings] = await Promise.all([this.#totals(collection), this.#postings(collection, [...new Set(terms)])]);
    const documentFrequencies = new Map<string, number>();
    for (const { term } of postings) documentFrequencies.set(term, (documentFrequencies.get(term) ?? 0) + 1);
    return {
      ...totals,
      postings: postings.map((row) => ({
        path: row.path.toString('utf8'),
        term: row.term,
        occurrences: row.occurrences,
        length: row.length,
        documentFrequency: documentFrequencies.get(row.term) ?? 0,
      })),
    };
  }

  async read(collection: string, path: string): Promise<{ title: string; mediaType: string; text: string; bodySha256: string } | null> {
    const rows = (await this.#dataSource.query('SELECT title, media_type, body_sha256, text_deflated FROM documents WHERE collection = ? AND path = ?', [
      collection,
      Buffer.from(path, 'utf8'),
    ])) as { title: string; media_type: string; body_sha256: string; text_deflated: Buffer }[];
    const row = rows[0];
    if (row === undefined) return null;
    return { title: row.title, mediaType: row.media_type, text: await decompressText(row.text_deflated, `document ${path}`), bodySha256: row.body_sha256 };
  }

  async #totals(collection: string): Promise<{ documents: number; averageLength: number }> {
    const rows = (await this.#dataSource.query('SELECT COUNT(*) AS documents, COALESCE(SUM(length), 0) AS length FROM documents WHERE collection = ?', [
      collection,
    ])) as { documents: string; length: string }[];
    const documents = Number(rows[0]?.documents ?? 0);
    return { documents, averageLength: documents === 0 ? 0 : Number(rows[0]?.length ?? 0) / documents };
  }

  async #postings(collection: string, terms: string[]): Promise<PostingRow[]> {
    if (terms.length === 0) return [];
    const sql =
      'SELECT d.path, t.term, t.occurrences, d.length FROM document_terms t JOIN documents d ON d.id = t.document_id WHERE t.collection = ? AND t.term IN (?)';
    return (await this.#dataSource.query(sql, [collection, terms])) as PostingRow[];
  }
}

async function removePaths(manager: EntityManager, collection: string, paths: string[]): Promise<void> {
  for (let from = 0; from < paths.length; from += PATHS_PER_DELETE) {
    const keys = paths.slice(from, from + PATHS_PER_DELETE).map((path) => Buffer.from(path, 'utf8'));
    const rows = (await manager.query('SELECT id FROM documents WHERE collection = ? AND path IN (?)', [collection, keys])) as { id: number }[];
    if (rows.length === 0) continue;
    const ids = rows.map((row) => row.id);
    await manager.query('DELETE FROM document_terms WHERE document_id IN (?)', [ids]);
    await manager.query('DELETE FROM documents WHERE id IN (?)', [ids]);
  }
}

async function insertDocument(manager: EntityManager, collection: string, document: IndexedDocument, body: Buffer): Promise<void> {
  const terms = [...document.terms].filter(([term]) => term.length <= TERM_CHARS_MAX);
  const length = terms.reduce((sum, [, occurrences]) => sum + occurrences, 0);
  const inserted = (await manager.query(
    'INSERT INTO documents (collection, path, title, media_type, body_sha256, size_bytes, modified_at_ms, length, text_deflated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    [
      collection,
      Buffer.from(document.path, 'utf8'),
      [...document.title].slice(0, TITLE_CHARS_MAX).join(''),
      document.mediaType,
      document.bodySha256,
      document.sizeBytes,
      document.modifiedAtMs,
      length,
      body,
    ],
  )) as { insertId: number };
  for (let from = 0; from < terms.length; from += TERM_ROWS_PER_INSERT) {
    const rows = terms.slice(from, from + TERM_ROWS_PER_INSERT).map(([term, occurrences]) => [collection, term, inserted.insertId, occurrences]);
    await manager.query('INSERT INTO document_terms (collection, term, document_id, occurrences) VALUES ?', [rows]);
  }
}
