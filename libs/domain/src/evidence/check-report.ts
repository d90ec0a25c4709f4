import type { SourceId } from '#contracts';
import { stripControlCharacters } from '../text/sanitize.ts';
import { CitationLedger } from './citation-ledger.ts';
import { markQuotes } from './mark-quotes.ts';
import { reportParts, type ReportUnit } from './report-units.ts';
import { rewriteLinks, type RewrittenText } from './rewrite-links.ts';

/** A source that was fetched in this run chain. */
export interface ReportSource {
  id: SourceId;
  /** Canonical address. */
  url: string;
  /** Further addresses of the same document, such as the one it redirected to; they are made canonical here. */
  urlVariants?: readonly string[];
  title: string;
  text: string;
  bodySha256: string;
  /** ISO 8601. */
  fetchedAt: string;
}

export interface ReportCitation {
  sourceId: SourceId;
  /** Number in the report, from 1, in the order of first use. */
  number: number;
  /** Quotes of the report that stand in the source; `quote` is `text.slice(start, end)`. */
  quotes: { quote: string; start: number; end: number }[];
}

export interface CheckedReport {
  report: string;
  /** Sources the report really cites. An empty list is a report without evidence: the run ends `insufficient_evidence`. */
  citations: ReportCitation[];
  /** Addresses (and unexplained reference marks) the report pointed to that were not read in this run; each once. */
  unverified: string[];
}

/**
 * Holds a report against what was really fetched (invariant Q-23). A link to a fetched source becomes its number, `[1]`, and a `## Sources`
 * list takes the place of the model's own; any other link loses its address and is marked, images and embedded content go, and a quote
 * of 20 characters or more that stands in no source cited in its paragraph is marked. Pure, never throws; linear in the report
 * and in the sources it cites. `canonicalUrl` may throw for what is no address.
 */
export function checkReport(markdown: string, sources: readonly ReportSource[], canonicalUrl: (url: string) => string): CheckedReport {
  const { body, ownSources, references } = reportParts(stripControlCharacters(markdown));
  const ledger = new CitationLedger(sources, canonicalUrl, references);
  const units = body.map((unit) => rewriteUnit(unit, ledger));
  attributeBlockQuotes(units.filter(({ unit }) => unit.kind !== 'blank'));
  const checked = units.map((entry) => (entry.unit.kind === 'code' ? entry.text : markQuotes(entry, entry.unit.kind === 'quote', ledger)));
  // The model's own list is replaced, but what it names counts: a report that cites only there still cites.
  for (const unit of ownSources) rewriteUnit(unit, ledger);
  const report = checked.join('\n').trim();
  return { report: [report, ledger.sourcesSection()].filter((part) => part !== '').join('\n\n'), citations: ledger.citations(), unverified: ledger.unverified() };
}

interface RewrittenUnit extends RewrittenText {
  unit: ReportUnit;
}

function rewriteUnit(unit: ReportUnit, ledger: CitationLedger): RewrittenUnit {
  if (unit.kind === 'code' || unit.kind === 'blank') return { unit, text: unit.text, cited: [], labels: [] };
  return { unit, ...rewriteLinks(unit.text, ledger) };
}

// A block quote that names no source itself is attributed by the text right before or after it.
function attributeBlockQuotes(units: RewrittenUnit[]): void {
  units.forEach((entry, at) => {
    if (entry.unit.kind !== 'quote' || entry.cited.length > 0) return;
    entry.cited = [...(units[at - 1]?.cited ?? []), ...(units[at + 1]?.cited ?? [])];
  });
}
