import { QuaestorError } from '#contracts';
import type { DocumentIndex, PageReader, SearchProvider } from '#domain';
import type { WebConfig } from './config.ts';
import { collectionOf } from './documents/collection.ts';
import { indexFolder, type IndexReport } from './documents/folder.ts';
import { DocumentReader } from './documents/reader.ts';
import { Extractor } from './extract/extractor.ts';
import { AddressGuard } from './fetch/address-guard.ts';
import type { ResolveHost } from './fetch/guarded-connector.ts';
import { SafeFetch } from './fetch/safe-fetch.ts';
import { CompositeReader, WebPageReader } from './reader.ts';
import { SEARCH_PROVIDERS } from './search/index.ts';

export interface WebDependencies {
  documents: DocumentIndex;
  /** Default: the system's resolver. */
  resolveHost?: ResolveHost;
}

/** The outside world of one process. */
export interface Web {
  search: SearchProvider;
  pages: PageReader;
  /** Brings the index up to date with DOCS_DIR; `DOCS_FOLDER_INVALID` when that is unset or unusable. Safe to repeat. */
  indexDocuments(signal?: AbortSignal): Promise<IndexReport>;
  /** Ends connections and extraction children. Safe to repeat. */
  close(): Promise<void>;
}

/** Builds search and page reading from settings. Sends nothing and starts no process yet. Throws `CONFIG_INVALID`. */
export async function createWeb(config: WebConfig, dependencies: WebDependencies): Promise<Web> {
  const { documents } = dependencies;
  const folder = config.DOCS_DIR ?? null;
  const collection = folder === null ? null : await collectionOf(folder);
  const providerId = config.SEARCH_PROVIDER ?? (config.SEARXNG_URL === undefined ? 'local' : 'searxng');
  const guard = new AddressGuard(config.WEB_ALLOW_PRIVATE_HOSTS);
  const search = createSearch(providerId, config, documents, collection);
  const extractor = new Extractor({ timeoutMs: config.WEB_EXTRACT_TIMEOUT_MS });
  const fetch = createFetch(config, guard, dependencies.resolveHost);
  const isWebEnabled = config.WEB_ENABLED ?? providerId !== 'local';
  return {
    search,
    pages: new CompositeReader({
      documents: collection === null ? null : new DocumentReader(documents, collection),
      web: isWebEnabled ? new WebPageReader(guard, fetch, extractor) : null,
    }),
    indexDocuments: async (signal = new AbortController().signal) => {
      if (folder === null) throw new QuaestorError('DOCS_FOLDER_INVALID', 'There is no document folder to index: set DOCS_DIR.');
      return await indexFolder(folder, documents, extractor, signal);
    },
    close: async () => {
      extractor.close();
      await fetch.close();
    },
  };
}

function createSearch(id: WebConfig['SEARCH_PROVIDER'], config: WebConfig, documents: DocumentIndex, collection: string | null): SearchProvider {
  const provider = SEARCH_PROVIDERS.find((candidate) => candidate.id === id);
  if (provider === undefined) throw new QuaestorError('CONFIG_INVALID', `SEARCH_PROVIDER names no search engine: ${id}.`);
  return provider.create(config, { documents, collection });
}

function createFetch(config: WebConfig, guard: AddressGuard, resolveHost: ResolveHost | undefined): SafeFetch {
  return new SafeFetch({
    guard,
    bytesMax: config.WEB_PAGE_BYTES_MAX,
    timeoutMs: config.WEB_FETCH_TIMEOUT_MS,
    userAgent: config.WEB_USER_AGENT,
    ...(resolveHost === undefined ? {} : { resolveHost }),
  });
}
