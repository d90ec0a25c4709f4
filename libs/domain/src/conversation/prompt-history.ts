import type { PromptRecord } from '../ports/attempt-record.ts';
import type { RecordedAttempt } from '../ports/run-record.ts';

/** What a prompt was thought to take, and what the provider counted, in tokens. */
export interface CountedPrompt {
  estimated: number;
  reported: number;
}

/** What earlier prompts of a run say about its next one. */
export interface PromptHistory {
  /** Folds of its newest settled prompt: what is folded stays folded, so that a prompt keeps its beginning. */
  folds: readonly number[];
  /** Where it was cut, for the same reason; see `PromptRecord.cut`. */
  cut: number;
  /** What stands in the place of the groups that are left out; null when nothing does. */
  summary: string | null;
  /** The newest of its prompts whose tokens a provider has counted. */
  counted: CountedPrompt | null;
  /** Estimated tokens of the smallest prompt that its model called too long; null when it called none so. */
  overflowTokens: number | null;
}

export type PastPrompt = Pick<RecordedAttempt, 'finishing' | 'usage' | 'kind' | 'summary'> & {
  errorCode: string | null;
  prompt: Pick<PromptRecord, 'tokens' | 'folds' | 'cut'> | null;
};

/** How far an estimate is trusted to be wrong. */
const CORRECTION_MIN = 0.5;
const CORRECTION_MAX = 3;

/** Reads a run's settled attempts, in order. Finishing calls have prompts of their own and say nothing about others. */
export function promptHistoryOf(attempts: readonly PastPrompt[]): PromptHistory {
  const history: PromptHistory = { folds: [], cut: 0, summary: null, counted: null, overflowTokens: null };
  for (const { prompt, usage, errorCode, finishing, kind, summary } of attempts) {
    history.summary = summary ?? history.summary;
    if (!prompt || finishing) continue;
    history.folds = prompt.folds;
    history.cut = prompt.cut ?? 0;
    if (kind === 'summary') continue;
    if (!usage.estimated && prompt.tokens > 0 && usage.inputTokens > 0) history.counted = { estimated: prompt.tokens, reported: usage.inputTokens };
    if (errorCode === 'MODEL_CONTEXT_OVERFLOW') history.overflowTokens = Math.min(prompt.tokens, history.overflowTokens ?? Infinity);
  }
  return history;
}

/** By what our estimates are multiplied to be the provider's count; 1 as long as nothing was counted. */
export const correction = (counted: CountedPrompt | null): number =>
  counted === null ? 1 : Math.min(CORRECTION_MAX, Math.max(CORRECTION_MIN, counted.reported / counted.estimated));
