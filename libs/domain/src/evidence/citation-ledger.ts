import { oneLine } from '../tools/one-line.ts';
import { truncateChars } from '../text/sanitize.ts';
import type { ReportCitation, ReportSource } from './check-report.ts';
import { findQuote, foldText, type FoldedText } from './find-quote.ts';

const TITLE_CHARS_MAX = 200;
const HASH_CHARS_SHOWN = 12;

interface Entry {
  source: ReportSource;
  citation: ReportCitation;
  folded: FoldedText | null;
}

/** Numbers the sources of one report as they are cited, and remembers what could not be verified. */
export class CitationLedger {
  private readonly byUrl = new Map<string, ReportSource>();
  private readonly entries: Entry[] = [];
  private readonly strangers = new Set<string>();
  private readonly canonicalUrl: (url: string) => string;
  private readonly references: ReadonlyMap<string, string>;

  constructor(sources: readonly ReportSource[], canonicalUrl: (url: string) => string, references: ReadonlyMap<string, string>) {
    this.canonicalUrl = canonicalUrl;
    this.references = references;
    for (const source of sources) {
      for (const url of source.urlVariants ?? []) this.addAddress(this.canonical(url), source);
    }
    for (const source of sources) this.byUrl.set(source.url, source);
  }

  /** The address a reference label stands for, or null. */
  resolve(label: string): string | null {
    return this.references.get(label.trim().toLowerCase()) ?? null;
  }

  /** The number of the source behind an address, given on first use; null, and remembered, when it was not read in this run. */
  cite(address: string): number | null {
    const url = this.canonical(/^www\./i.test(address) ? `https://${address}` : address);
    const source = url === null ? undefined : this.byUrl.get(url);
    if (source === undefined) {
      this.strangers.add(oneLine(address));
      return null;
    }
    const known = this.entries.find((entry) => entry.source === source);
    if (known !== undefined) return known.citation.number;
    const citation: ReportCitation = { sourceId: source.id, number: this.entries.length + 1, quotes: [] };
    this.entries.push({ source, citation, folded: null });
    return citation.number;
  }

  /** A title that is safe in Markdown: it can form no link, no image and no code. */
  title(number: number): string {
    const entry = this.entries[number - 1];
    return entry === undefined ? '' : plainTitle(entry.source);
  }

  /** Records where a quote stands in the first of the given sources that holds it; false when none does. */
  recordQuote(quote: string, numbers: readonly number[]): boolean {
    for (const number of numbers) {
      const entry = this.entries[number - 1];
      if (entry === undefined) continue;
      entry.folded ??= foldText(entry.source.text);
      const found = findQuote(quote, entry.folded);
      if (found.length === 0) continue;
      const known = entry.citation.quotes;
      known.push(...found.filter((span) => !known.some(({ start, end }) => start === span.start && end === span.end)));
      return true;
    }
    return false;
  }

  citations(): ReportCitation[] {
    return this.entries.map((entry) => entry.citation);
  }

  unverified(): string[] {
    return [...this.strangers];
  }

  /** The list of cited sources, or an empty text when nothing was cited. */
  sourcesSection(): string {
    if (this.entries.length === 0) return '';
    const lines = this.entries.map(({ source, citation }) => {
      const proof = `fetched ${source.fetchedAt}, sha256 ${source.bodySha256.slice(0, HASH_CHARS_SHOWN)}...`;
      return `[${citation.number}] ${plainTitle(source)} - ${oneLine(source.url).replace(/[<>`]/g, encodeURIComponent)} (${proof})`;
    });
    return ['## Sources', ...lines].join('\n\n');
  }

  private addAddress(url: string | null, source: ReportSource): void {
    if (url !== null && !this.byUrl.has(url)) this.byUrl.set(url, source);
  }

  private canonical(url: string): string | null {
    try {
      return this.canonicalUrl(url);
    } catch {
      return null;
    }
  }
}

const plainTitle = ({ title, url }: ReportSource): string =>
  truncateChars(oneLine(title) || oneLine(url), TITLE_CHARS_MAX)
    .replace(/\b(?:https?:\/\/|www\.)/gi, '')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll('`', "'");
