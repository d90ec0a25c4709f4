import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { QuaestorError } from '#contracts';
import { documentUrl, termCounts, type DocumentIndex, type IndexedDocument } from '#domain';
import type { Extractor } from '../extract/extractor.ts';
import { collectionOf } from './collection.ts';
import { DOCUMENT_TYPES, walkDocuments, type FoundDocument } from './walk.ts';

/** Documents written per transaction; also what one crash makes us do again. */
const DOCUMENTS_PER_WRITE = 16;
const EXTRACTIONS_AT_ONCE = 2;

export interface IndexReport {
  /** Documents that were new or changed. */
  indexed: number;
  unchanged: number;
  removed: number;
  /** Documents that are not in the index although they are in the folder. */
  failed: { path: string; reason: string }[];
}

/**
 * Brings the index up to date with the folder: only what is new or has another size or modification time is read again, and what is gone
 * is removed. One process at a time per folder. Throws `DOCS_FOLDER_INVALID`; a document that cannot be read is reported, not thrown.
 * Safe to repeat, and to go on with after a crash.
 */
export async function indexFolder(folder: string, index: DocumentIndex, extractor: Extractor, signal: AbortSignal): Promise<IndexReport> {
  const { documents, skipped } = await walkDocuments(folder);
  const collection = await collectionOf(folder);
  return await index.exclusively(collection, async () => {
    const known = new Map((await index.fingerprints(collection)).map((fingerprint) => [fingerprint.path, fingerprint]));
    const changed = documents.filter((document) => !isSame(document, known.get(document.path)));
    const present = new Set(documents.map(({ path }) => path));
    const gone = [...known.keys()].filter((path) => !present.has(path));
    const failed = [...skipped];
    for (let from = 0; from < changed.length; from += DOCUMENTS_PER_WRITE) {
      const chunk = changed.slice(from, from + DOCUMENTS_PER_WRITE);
      await index.put(collection, await readAll(chunk, extractor, signal, failed));
    }
    const stale = failed.map(({ path }) => path).filter((path) => known.has(path));
    await index.remove(collection, [...new Set([...gone, ...stale])]);
    const failedPaths = new Set(failed.map(({ path }) => path));
    if (documents.every(({ path }) => failedPaths.has(path)) && failed.length > 0) throw noneReadable(folder, failed);
    return {
      indexed: changed.filter(({ path }) => !failedPaths.has(path)).length,
      unchanged: documents.length - changed.length,
      removed: gone.length,
      failed,
    };
  });
}

function noneReadable(folder: string, failed: IndexReport['failed']): QuaestorError {
  const first = failed[0];
  const example = first ? ` (${first.path}: ${first.reason.replace(/\.$/, '')})` : '';
  return new QuaestorError('DOCS_FOLDER_INVALID', `None of the ${failed.length} documents in the folder ${folder} can be read${example}.`);
}

function isSame(found: FoundDocument, known: { sizeBytes: number; modifiedAtMs: number } | undefined): boolean {
  return known !== undefined && known.sizeBytes === found.sizeBytes && known.modifiedAtMs === found.modifiedAtMs;
}

async function readAll(chunk: FoundDocument[], extractor: Extractor, signal: AbortSignal, failed: IndexReport['failed']): Promise<IndexedDocument[]> {
  const read: IndexedDocument[] = [];
  for (let from = 0; from < chunk.length; from += EXTRACTIONS_AT_ONCE) {
    const outcomes = await Promise.all(chunk.slice(from, from + EXTRACTIONS_AT_ONCE).map((found) => readDocument(found, extractor, signal)));
    for (const outcome of outcomes) {
      if ('reason' in outcome) failed.push(outcome);
      else read.push(outcome);
    }
  }
  return read;
}

async function readDocument(found: FoundDocument, extractor: Extractor, signal: AbortSignal): Promise<IndexedDocument | { path: string; reason: string }> {
  const { path, sizeBytes, modifiedAtMs } = found;
  try {
    const bytes = await readFile(found.absolutePath, { signal });
    const contentType = DOCUMENT_TYPES[extname(path).toLowerCase()] ?? '';
    const { title, mediaType, text, bodySha256 } = await extractor.extract({ bytes, contentType, url: documentUrl(path), fallbackTitle: basename(path) }, signal);
    return { path, title, mediaType, text, bodySha256, sizeBytes, modifiedAtMs, terms: termCounts(`${title}\n${text}`) };
  } catch (error) {
    signal.throwIfAborted();
    return { path, reason: error instanceof QuaestorError ? error.message : 'The file cannot be read.' };
  }
}
