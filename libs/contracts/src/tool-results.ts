import { z } from 'zod';
import { RunId, SourceId } from './ids.ts';

export const SearchHit = z.object({
  rank: z.number().int().positive(),
  url: z.string(),
  title: z.string(),
  snippet: z.string(),
  engine: z.string().optional(),
  published: z.string().optional(),
});
export type SearchHit = z.infer<typeof SearchHit>;

export const PageMatch = z.object({ page: z.number().int().nonnegative(), text: z.string() });
export type PageMatch = z.infer<typeof PageMatch>;

/**
 * What a tool call stores as its result. Page bodies are never copied here: a result holds a source id and a page, and is rendered when
 * a prompt is built. `text` results are shown as they are.
 */
export const ToolResult = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('text'), text: z.string() }),
  z.object({ kind: z.literal('hits'), query: z.string(), provider: z.string(), hits: z.array(SearchHit), degraded: z.string().optional() }),
  z.object({ kind: z.literal('page'), sourceId: SourceId, url: z.string(), title: z.string(), page: z.number().int().nonnegative(), pages: z.number().int().positive() }),
  z.object({ kind: z.literal('matches'), sourceId: SourceId, url: z.string(), query: z.string(), matches: z.array(PageMatch) }),
  z.object({ kind: z.literal('delegation'), workerRunId: RunId, text: z.string(), findings: z.number().int().nonnegative() }),
  z.object({ kind: z.literal('error'), code: z.string(), message: z.string(), findings: z.number().int().nonnegative().optional() }),
]);
export type ToolResult = z.infer<typeof ToolResult>;
export type ErrorResult = Extract<ToolResult, { kind: 'error' }>;
