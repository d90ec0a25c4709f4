import { CitationView, SourceId } from '#contracts';
import { z } from 'zod';

/** One entry of `runs.citations`: a numbered source of the report and the quotes taken from it. */
export const SourceCitation = z.object({ sourceId: SourceId, number: z.number().int().positive(), quotes: z.array(CitationView) });
export type SourceCitation = z.infer<typeof SourceCitation>;

const Citations = z.array(SourceCitation);

/** The citations of a report by source id; a report without any has none. */
export function citationsBySource(column: string | null): Map<string, SourceCitation> {
  const citations = column === null ? [] : Citations.parse(JSON.parse(column));
  return new Map(citations.map((citation) => [citation.sourceId, citation]));
}
