import { QuaestorError } from '#contracts';
import { canonicalUrl, isDocumentUrl, type FetchedPage, type PageReader } from '#domain';
import type { Extractor } from './extract/extractor.ts';
import type { AddressGuard } from './fetch/address-guard.ts';
import type { SafeFetch } from './fetch/safe-fetch.ts';

/** Reads public web pages. */
export class WebPageReader implements PageReader {
  readonly #guard: AddressGuard;
  readonly #fetch: SafeFetch;
  readonly #extractor: Extractor;

  constructor(guard: AddressGuard, fetch: SafeFetch, extractor: Extractor) {
    this.#guard = guard;
    this.#fetch = fetch;
    this.#extractor = extractor;
  }

  canonicalUrl(url: string): string {
    return this.#guard.check(canonicalUrl(url)).href;
  }

  async read(address: string, signal: AbortSignal, admit?: (address: string) => void): Promise<FetchedPage> {
    const url = this.canonicalUrl(address);
    const { finalUrl, contentType, bytes } = await this.#fetch.get(url, signal, admit);
    const document = await this.#extractor.extract({ bytes, contentType, url: finalUrl, fallbackTitle: lastSegment(finalUrl) }, signal);
    return { url, finalUrl, ...document };
  }
}

/** Sends an address to the reader of its scheme; a scheme without one is refused. */
export class CompositeReader implements PageReader {
  readonly #documents: PageReader | null;
  readonly #web: PageReader | null;

  constructor(readers: { documents: PageReader | null; web: PageReader | null }) {
    this.#documents = readers.documents;
    this.#web = readers.web;
  }

  canonicalUrl(url: string): string {
    return this.#readerOf(url).canonicalUrl(url);
  }

  async read(url: string, signal: AbortSignal, admit?: (address: string) => void): Promise<FetchedPage> {
    return await this.#readerOf(url).read(url, signal, admit);
  }

  #readerOf(address: string): PageReader {
    const isDocument = isDocumentUrl(canonicalUrl(address));
    const reader = isDocument ? this.#documents : this.#web;
    if (reader !== null) return reader;
    const fix = isDocument ? 'no document folder is set (DOCS_DIR)' : 'reading the web is switched off (WEB_ENABLED)';
    throw new QuaestorError('URL_REFUSED', `The address ${JSON.stringify(address.slice(0, 200))} cannot be read: ${fix}.`);
  }
}

function lastSegment(address: string): string {
  const { hostname, pathname } = new URL(address);
  return pathname.split('/').filter(Boolean).at(-1) ?? hostname;
}
