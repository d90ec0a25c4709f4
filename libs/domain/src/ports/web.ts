import type { SearchHit } from '#contracts';

export interface SearchAnswer {
  hits: SearchHit[];
  /** Set when the provider answered, but not fully: an empty list is then no proof that nothing exists. */
  degraded?: string;
}

/** A search engine. Throws `QuaestorError` with `SEARCH_FAILED`; an empty list is an answer, not an error. */
export interface SearchProvider {
  readonly id: string;
  search(query: string, limit: number, signal: AbortSignal): Promise<SearchAnswer>;
}

/** One fetched document, ready to be stored as a source. */
export interface FetchedPage {
  /** Canonical form of the address that was asked for: the identity of the source. */
  url: string;
  finalUrl: string;
  title: string;
  /** Media type without parameters, such as `text/html`. */
  mediaType: string;
  /** Readable text (Markdown); what pages, quotes and searches refer to. */
  text: string;
  /** SHA-256 of `text` in UTF-8, lower-case hex. */
  bodySha256: string;
  /** How the text was won, such as `readability`, `plain`, `pdf`, or `degraded:strip`. */
  extraction: string;
}

/**
 * Reads one address. Throws `QuaestorError`: `URL_REFUSED` before any byte is sent, `PAGE_FETCH_FAILED`, `PAGE_TOO_LARGE`,
 * `PAGE_UNREADABLE`. Safe to repeat.
 */
export interface PageReader {
  /** Canonical form, or `URL_REFUSED` when no configured reader may open it. Pure: sends nothing. */
  canonicalUrl(url: string): string;
  /** `admit` is asked for the address of every redirect, and throws to refuse it. */
  read(url: string, signal: AbortSignal, admit?: (address: string) => void): Promise<FetchedPage>;
}

/** A document of a local folder as the index keeps it. */
export interface IndexedDocument {
  /** Path below the folder, `/`-separated: the identity within its collection. */
  path: string;
  title: string;
  mediaType: string;
  text: string;
  bodySha256: string;
  sizeBytes: number;
  modifiedAtMs: number;
  /** Term -> occurrences, after stemming; the sum is the document's length. */
  terms: Map<string, number>;
}

export interface DocumentFingerprint {
  path: string;
  sizeBytes: number;
  modifiedAtMs: number;
}

export interface TermStatistics {
  documents: number;
  averageLength: number;
  postings: { path: string; term: string; occurrences: number; length: number; documentFrequency: number }[];
}

/** Shared postings of document folders, so that every worker searches one index. `collection` names a folder (a hash of its path). */
export interface DocumentIndex {
  /** Runs `work` while no other process indexes this collection. */
  exclusively<Value>(collection: string, work: () => Promise<Value>): Promise<Value>;
  fingerprints(collection: string): Promise<DocumentFingerprint[]>;
  put(collection: string, documents: IndexedDocument[]): Promise<void>;
  remove(collection: string, paths: string[]): Promise<void>;
  statistics(collection: string, terms: string[]): Promise<TermStatistics>;
  read(collection: string, path: string): Promise<{ title: string; mediaType: string; text: string; bodySha256: string } | null>;
}
