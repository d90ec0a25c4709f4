import type { z } from 'zod';
import type { LanguageModel } from '#domain';

/** A model vendor as the list knows it. `create` takes exactly what `config` gives, which each vendor's own type says. */
export interface ModelProvider {
  id: string;
  /** Keys are environment variable names; others are ignored. */
  config: z.ZodType;
  create(config: never): LanguageModel;
}
