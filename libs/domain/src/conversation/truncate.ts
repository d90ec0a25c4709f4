import type { ModelMessage } from '#contracts';
import { groupMessages, type MessageGroup } from './group-messages.ts';

export interface TruncateOptions {
  /** Tokens the messages may take together. Zero or less leaves the protected ones only. */
  budgetTokens: number;
  /** Tokens of one message; never negative. */
  estimateTokens: (message: ModelMessage) => number;
}

/** A history that may have to be cut before its next prompt. */
export interface CutView extends Pick<TruncateOptions, 'estimateTokens'> {
  messages: readonly ModelMessage[];
  /** Where it is cut now: the position of the first message that is not left out; 0 when all are sent. */
  cut: number;
  /** Estimated tokens of what is sent with this cut, and how many there may be. */
  tokens: number;
  tokensMax: number;
}

/** A cut changes a prompt from its beginning, which voids a prompt cache: so much is left out at once that the next cut is some turns away. */
const SHARE_AFTER_CUT = 3 / 4;

/**
 * Where a history is cut before its next prompt. Pure. The cut stays as long as the prompt is within its limit, so that prompts only grow at
 * their end. Beyond it the prompt is cut to three quarters of the limit; to the whole limit where the newest group would not fit else.
 */
export function nextCut({ messages, cut, tokens, tokensMax, estimateTokens }: CutView): number {
  if (tokens <= tokensMax) return cut;
  const position = cutPosition(messages, { budgetTokens: Math.floor(tokensMax * SHARE_AFTER_CUT), estimateTokens });
  return Math.max(cut, position < messages.length ? position : cutPosition(messages, { budgetTokens: tokensMax, estimateTokens }));
}

/**
 * Where a history has to be cut to fit a token budget: whole groups are left out, oldest first, until the rest fits. 0 when nothing is left
 * out, the number of messages when only protected ones are sent.
 */
export function cutPosition(messages: readonly ModelMessage[], { budgetTokens, estimateTokens }: TruncateOptions): number {
  const groups = groupMessages(messages);
  const isProtected = protectedFlags(groups);
  const costs = groups.map((group) => costOf(group, estimateTokens));
  let leftTokens = budgetTokens - costs.reduce((sum, cost, index) => sum + (isProtected[index] === true ? cost : 0), 0);
  let position = messages.length;
  let cut = messages.length;
  for (let index = groups.length - 1; index >= 0; index--) {
    position -= groups[index]?.messages.length ?? 0;
    if (isProtected[index] === true) continue;
    leftTokens -= costs[index] ?? 0;
    if (leftTokens < 0) return cut;
    cut = position;
  }
  return 0;
}

/**
 * What is sent of a history that is cut at `position`. System messages, the question and groups with open calls always stay; the question is
 * the first user message and, on a thread with several, the last one too. The order stays and the same message objects come back, none
 * merged or changed.
 */
export function historyFrom(messages: readonly ModelMessage[], position: number): ModelMessage[] {
  if (position === 0) return [...messages];
  const groups = groupMessages(messages);
  const isProtected = protectedFlags(groups);
  let start = 0;
  return groups.flatMap((group, index) => {
    const isKept = isProtected[index] === true || start >= position;
    start += group.messages.length;
    return isKept ? group.messages : [];
  });
}

function protectedFlags(groups: readonly MessageGroup[]): boolean[] {
  const roles = groups.map(({ messages }) => messages[0]?.role);
  const questions = [roles.indexOf('user'), roles.lastIndexOf('user')];
  return groups.map(({ openCalls }, index) => openCalls > 0 || roles[index] === 'system' || questions.includes(index));
}

const costOf = ({ messages }: MessageGroup, estimateTokens: TruncateOptions['estimateTokens']): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0);
