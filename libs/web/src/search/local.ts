import { z } from 'zod';
import { QuaestorError, type SearchHit } from '#contracts';
import { bm25TermScore, documentUrl, terms, type DocumentIndex, type SearchAnswer, type SearchProvider, type TermStatistics } from '#domain';
import { defineSearchProvider } from './provider.ts';
import { bestSnippet } from './snippet.ts';

const PROVIDER_ID = 'local';
/** A question has a handful of terms; a pasted page as a query would only cost time. */
const QUERY_TERMS_MAX = 64;

/** Searches the document folder: BM25 over the shared index, the snippet being each document's best passage. */
export const localSearch = defineSearchProvider({
  id: PROVIDER_ID,
  config: z.object({
    DOCS_DIR: z.string().optional().describe('Folder of local documents (md, markdown, txt, html, htm, pdf) that can be searched and read. Default: unset.'),
  }),
  create(_settings, { documents, collection }): SearchProvider {
    if (collection === null) {
      throw new QuaestorError('CONFIG_INVALID', 'The search engine `local` needs a document folder: set DOCS_DIR, or SEARXNG_URL to search the web.');
    }
    return { id: PROVIDER_ID, search: (query, limit, signal) => searchDocuments(documents, collection, query, limit, signal) };
  },
});

async function searchDocuments(index: DocumentIndex, collection: string, query: string, limit: number, signal: AbortSignal): Promise<SearchAnswer> {
  signal.throwIfAborted();
  const queryTerms = [...new Set(terms(query))].slice(0, QUERY_TERMS_MAX);
  const hits: SearchHit[] = [];
  // one after the other: a search must not take the whole connection pool
  for (const path of rankDocuments(await index.statistics(collection, queryTerms)).slice(0, limit)) {
    const document = await index.read(collection, path);
    // a document may have left the index after it was ranked
    if (document === null) continue;
    hits.push({ rank: hits.length + 1, url: documentUrl(path), title: document.title, snippet: bestSnippet(query, document.text), engine: PROVIDER_ID });
  }
  return { hits };
}

/** Paths of the documents that hold a term of the query, best first; equal scores stand in path order. */
function rankDocuments({ documents, averageLength, postings }: TermStatistics): string[] {
  const scores = new Map<string, number>();
  for (const posting of postings) {
    scores.set(posting.path, (scores.get(posting.path) ?? 0) + bm25TermScore(posting, { documents, averageLength }));
  }
  return [...scores].sort(([leftPath, left], [rightPath, right]) => right - left || (leftPath < rightPath ? -1 : 1)).map(([path]) => path);
}
