import type { ModelPrice } from '../ports/language-model.ts';
import { correction, type PromptHistory } from './prompt-history.ts';
import { nextCut, type CutView } from './truncate.ts';

/** Raw page characters a prompt may hold where the price of cached input is not known. */
export const RAW_PAGE_CHARS_DEFAULT = 64_000;
/** Above this a prompt grows unwieldy for a model, whatever a cache saves. */
const RAW_PAGE_CHARS_MAX = 128_000;
/** Of eight folded pages one is looked at again; a higher share keeps pages raw for longer. */
const REOPENED_SHARE = 1 / 8;
/** A page that was just read, and the one before it, which it is most often compared with. */
const PAGES_MIN = 2;

/**
 * Characters of raw pages a worker's prompt may hold before all but the newest are folded. Pure.
 *
 * With `r`, the price of cached over that of fresh input: in blocks of `n` pages of size `p` a page that will be folded is sent fresh once
 * and cached `(n - 2) / 2` times on average, at `r * p` each. Folding it costs reading it again, `p`, in one of eight cases. Both are equal
 * at `n = 2 + 2 * share / r`; beyond it, keeping costs more than it saves. Input that costs nothing is never folded for its price.
 */
export function rawPageCharsMax(price: ModelPrice, pageChars: number): number {
  const { inputMicrocreditsPer1000: input, cachedInputMicrocreditsPer1000: cached } = price;
  if (input === 0) return Infinity;
  if (cached === undefined) return Math.max(RAW_PAGE_CHARS_DEFAULT, PAGES_MIN * pageChars);
  const pages = cached === 0 ? Infinity : PAGES_MIN + (2 * REOPENED_SHARE * input) / cached;
  return Math.floor(Math.max(PAGES_MIN * pageChars, Math.min(RAW_PAGE_CHARS_MAX, pages * pageChars)));
}

/** What a prompt would hold if it were sent now. */
export interface PromptLoad {
  /** The turn it asks for. */
  turn: number;
  /** Characters of pages that are shown whole. */
  rawPageChars: number;
  /** Estimated tokens of all messages, and how many there may be. */
  tokens: number;
  tokensMax: number;
}

/** How large prompts may get. Pure; a replay puts what was recorded in its place. */
export interface PromptPolicy {
  /** Tokens a prompt may take, by our own estimate. */
  tokensMax(history: Pick<PromptHistory, 'counted' | 'overflowTokens'>): number;
  /** Whether older pages are folded before this prompt. */
  isFoldDue(load: PromptLoad): boolean;
  /** Where the history is cut for this prompt, after any fold. */
  cutOf(view: CutView): number;
  /** Whether groups that are left out are summarised by a model call. */
  summarises(): boolean;
}

/** After a model called a prompt too long, the next one may take this much of it: once, as a second refusal ends the run. */
const SHARE_AFTER_OVERFLOW = 0.5;

/**
 * Prompts of up to `tokensMax` tokens as the provider counts them, with up to `rawPageChars` characters of whole pages. Pages are also folded
 * before older messages would have to be left out.
 */
export const promptPolicy = (limits: { tokensMax: number; rawPageChars: number; summarises?: boolean }): PromptPolicy => ({
  tokensMax({ counted, overflowTokens }) {
    const estimated = Math.floor(limits.tokensMax / correction(counted));
    return overflowTokens === null ? estimated : Math.min(estimated, Math.floor(overflowTokens * SHARE_AFTER_OVERFLOW));
  },
  isFoldDue: ({ rawPageChars, tokens, tokensMax }) => rawPageChars > limits.rawPageChars || tokens > tokensMax,
  cutOf: nextCut,
  summarises: () => limits.summarises ?? false,
});
