import { extractiveProvider } from './extractive.ts';
import { openAiCompatibleProvider } from './openai-compatible.ts';
import type { ModelProvider } from './provider.ts';

/** Every model vendor; adding one is adding a file and its line here. */
export const MODEL_PROVIDERS: readonly ModelProvider[] = [openAiCompatibleProvider, extractiveProvider];
