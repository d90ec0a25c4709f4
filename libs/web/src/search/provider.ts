import type { z } from 'zod';
import type { DocumentIndex, SearchProvider } from '#domain';

export interface SearchDependencies {
  documents: DocumentIndex;
  /** Collection of the document folder, or null when none is set. */
  collection: string | null;
}

/** One search engine. `config` holds the settings it adds; `create` throws `CONFIG_INVALID` when one that it needs is missing. */
export interface SearchProviderSpec<Id extends string, Config extends z.ZodObject> {
  id: Id;
  config: Config;
  create(settings: z.infer<Config>, dependencies: SearchDependencies): SearchProvider;
}

export function defineSearchProvider<const Id extends string, Config extends z.ZodObject>(
  spec: SearchProviderSpec<Id, Config>,
): SearchProviderSpec<Id, Config> {
  return spec;
}
