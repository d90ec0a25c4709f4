import { extractiveProvider } from './extractive.ts';
import type { ModelProvider } from './provider.ts';
import { anthropicProvider, openAiCompatibleProvider, openAiResponsesProvider } from './streamed.ts';

/** Every model vendor; adding one is adding a file and its line here. */
export const MODEL_PROVIDERS: readonly ModelProvider[] = [openAiCompatibleProvider, openAiResponsesProvider, anthropicProvider, extractiveProvider];
