import { localSearch } from './local.ts';
import { searxngSearch } from './searxng.ts';

/** Every search engine. A new one is one file, one line here and one in `searchSettings`. */
export const SEARCH_PROVIDERS = [localSearch, searxngSearch] as const;

/** The settings that the engines add. */
export const searchSettings = { ...localSearch.config.shape, ...searxngSearch.config.shape };
