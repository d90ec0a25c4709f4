import { QuaestorError } from '#contracts';
import { canonicalUrl, documentPath, type DocumentIndex, type FetchedPage, type PageReader } from '#domain';

/** Reads `doc:` addresses from the index, so that every process sees the same snapshot of a document, wherever the folder is mounted. */
export class DocumentReader implements PageReader {
  readonly #index: DocumentIndex;
  readonly #collection: string;

  constructor(index: DocumentIndex, collection: string) {
    this.#index = index;
    this.#collection = collection;
  }

  canonicalUrl(url: string): string {
    return canonicalUrl(url);
  }

  async read(address: string, signal: AbortSignal): Promise<FetchedPage> {
    signal.throwIfAborted();
    const url = this.canonicalUrl(address);
    const document = await this.#index.read(this.#collection, documentPath(url));
    if (document === null) throw new QuaestorError('PAGE_FETCH_FAILED', `The document folder has no document ${url}.`, { retryable: false });
    return { url, finalUrl: url, ...document, extraction: 'document' };
  }
}
