import { createHash } from 'node:crypto';
import { QuaestorError } from '#contracts';
import { canonicalUrl, type FetchedPage, type PageReader, type SearchProvider } from '#domain';

/** Search and pages in this process. Every address below `https://pages.test/` is a page; `before` may delay, hang or fail one. */
export class FixturePages implements SearchProvider, PageReader {
  readonly id = 'fixture';
  readonly searches: string[] = [];
  readonly reads: string[] = [];
  /** The text of a page. */
  text = pageText;
  before: (what: string, signal: AbortSignal) => Promise<void> | void = () => undefined;

  canonicalUrl(url: string): string {
    const canonical = canonicalUrl(url);
    if (!canonical.startsWith('https://pages.test/')) throw new QuaestorError('URL_REFUSED', `${canonical} is outside of the fixture.`);
    return canonical;
  }

  async search(query: string, _limit: number, signal: AbortSignal): ReturnType<SearchProvider['search']> {
    this.searches.push(query);
    await this.before(query, signal);
    return { hits: [{ rank: 1, url: pageAddress(query), title: query, snippet: `About ${query}.` }] };
  }

  async read(url: string, signal: AbortSignal): Promise<FetchedPage> {
    this.reads.push(url);
    await this.before(url, signal);
    const text = this.text(url);
    return { url: canonicalUrl(url), finalUrl: url, title: `Page ${url}`, mediaType: 'text/html', text, bodySha256: createHash('sha256').update(text).digest('hex'), extraction: 'plain' };
  }
}

export const pageAddress = (name: string): string => `https://pages.test/${encodeURIComponent(name)}`;

const pageText = (url: string): string => `The page at ${url} says that a lease is a right with an end.`;
